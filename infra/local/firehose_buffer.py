"""Makes the local Firehose buffer, as the real one does: rows that arrive together become one Parquet object for each partition.

The local AWS converts and stores every record on its own, within the call that brings it, at tens of milliseconds a record. A call of 500 records
then takes more than ten seconds, in which nothing else is answered. Here a call returns at once, and its records are delivered a moment later.
Records that cannot be partitioned or converted are delivered one by one, so that only they end under the error prefix.
"""

import contextvars
import threading
from collections import defaultdict

from ministack.services import firehose

# How long records are gathered. The least that the real one takes is 60 s when it converts; nobody wants to wait for that here.
SECONDS = 0.3

deliver_one = firehose._deliver_to_s3
convert = firehose._convert_to_parquet
partition_keys = firehose._metadata_extraction_keys

lock = threading.Lock()
waiting: dict = {}
converted: dict = {}


def install() -> None:
    firehose._deliver_to_s3 = gather
    firehose._convert_to_parquet = lambda conversion, data: converted.pop(data, None) or convert(conversion, data)
    # All records of a joined one have the same keys.
    firehose._metadata_extraction_keys = lambda cfg, data: partition_keys(cfg, data.split(b"\n", 1)[0])


def gather(stream: dict, dest: dict, data: bytes, lambda_keys=None) -> None:
    conversion = dest["config"].get("DataFormatConversionConfiguration") or {}
    if lambda_keys or not conversion or not conversion.get("Enabled", True) or not data.endswith(b"\n"):
        deliver_one(stream, dest, data, lambda_keys)
        return
    name = (stream["name"], id(dest))
    with lock:
        first = name not in waiting
        waiting.setdefault(name, []).append(data)
    if first:
        # In the context of this call, so for the same account and Region.
        context = contextvars.copy_context()
        timer = threading.Timer(SECONDS, context.run, (flush, name, stream, dest))
        timer.daemon = True
        timer.start()


def flush(name: tuple, stream: dict, dest: dict) -> None:
    with lock:
        records = waiting.pop(name)
    groups = defaultdict(list)
    for data in records:
        try:
            keys = partition_keys(dest["config"], data)
            groups[tuple(sorted((keys or {}).items()))].append(data)
        except firehose._DeliveryError:
            deliver_one(stream, dest, data)
    for group in groups.values():
        deliver_group(stream, dest, group)


def deliver_group(stream: dict, dest: dict, group: list) -> None:
    joined = b"".join(group)
    try:
        converted[joined] = convert(dest["config"]["DataFormatConversionConfiguration"], joined)
    except firehose._DeliveryError:
        for data in group:
            deliver_one(stream, dest, data)
        return
    deliver_one(stream, dest, joined)
    converted.pop(joined, None)
