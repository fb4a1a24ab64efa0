"""The template as data, and as what CloudFormation makes of it. Offline."""

import logging
import os
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.translator.transform import transform  # noqa: E402 (it reads the region when it is loaded)
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

# It counts its own use and warns that nobody collects the figures.
logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)

TEMPLATE = Path(__file__).resolve().parent.parent / "template.yaml"
# Every function has a role of its own, so that no managed policy is ever looked up.
NO_MANAGED_POLICIES = SimpleNamespace(load=dict)


def load(path: Path = TEMPLATE) -> dict:
    """The template, with `!Ref X` as `{"Ref": "X"}` and so on."""
    return yaml_parse(path.read_text(encoding="utf-8"))


def functions(template: dict) -> dict[str, str]:
    """The short name of each function (the folder of its package) by its logical id."""
    return {
        logical_id: Path(resource["Properties"]["CodeUri"]).name
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }


def translate(template: dict, code: dict[str, dict] | None = None) -> dict:
    """The CloudFormation template. `code` says where each function's package is, by logical id."""
    resources = dict(template["Resources"])
    for logical_id, name in functions(template).items():
        properties = dict(resources[logical_id]["Properties"])
        properties["CodeUri"] = (code or {}).get(logical_id, f"s3://packages/{name}.zip")
        resources[logical_id] = {**resources[logical_id], "Properties": properties}
    return transform({**template, "Resources": resources}, {}, NO_MANAGED_POLICIES)
