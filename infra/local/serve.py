"""The local AWS: ministack on the loopback interface, with its state in memory.

Prints its URL on stdout when it is up, logs to stderr, and ends when stdin ends, so that it never outlives the process that started it.
"""

import argparse
import asyncio
import os
import socket
import sys
import threading
import urllib.request


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--port", type=int, default=0, help="0 takes a free one")
    arguments.add_argument("--dir", required=True, help="folder for everything it writes")
    options = arguments.parse_args()

    # Bound before the server is loaded: it must know its port, and nobody else can take it.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", options.port))
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"

    # The address is in the URLs it answers with. An IP address, since SDKs put a bucket's name before a host's.
    os.environ.update(GATEWAY_PORT=str(port), MINISTACK_HOST="127.0.0.1", AWS_ENDPOINT_URL=url)
    # Whatever a service of it puts on disk goes with the run.
    for variable, folder in {"TMPDIR": "tmp", "STATE_DIR": "state", "S3_DATA_DIR": "s3"}.items():
        os.environ[variable] = os.path.join(os.path.abspath(options.dir), folder)
        os.makedirs(os.environ[variable], exist_ok=True)
    os.environ.setdefault("LOG_LEVEL", "WARNING")

    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=end_with_the_caller, daemon=True).start()
    threading.Thread(target=tell_when_up, args=(url, answer), daemon=True).start()

    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app

    import firehose_buffer

    firehose_buffer.install()
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.keep_alive_timeout = 75
    config.loglevel = os.environ["LOG_LEVEL"]
    asyncio.run(serve(app, config))


def end_with_the_caller() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def tell_when_up(url: str, answer) -> None:
    # The socket is bound but takes no connection before the server listens on it, so one request would be refused: ask until it is answered.
    ready = threading.Event()
    while not ready.wait(0.05):
        try:
            with urllib.request.urlopen(f"{url}/_ministack/health", timeout=60):
                ready.set()
        except OSError:
            continue
    print(url, file=answer, flush=True)


if __name__ == "__main__":
    main()
