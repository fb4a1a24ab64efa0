"""Checks the template for the settings that the code relies on. One rule a setting, each with its reason.

    check_template.py [TEMPLATE]

prints one line for each finding, `place: setting: what is wrong (why it matters)`, and exits 1 if there is one. It reads the SAM template and the
CloudFormation template that it becomes: mappings are checked in both. The rules are in `mapping_rules.py` and `resource_rules.py`.
"""

import sys
from pathlib import Path

import mapping_rules  # noqa: F401 (collects its rules)
import resource_rules  # noqa: F401
import sam
from template_view import RULES, Template


def check(template: dict) -> list[str]:
    """The findings in a template, SAM or CloudFormation."""
    found = Template(template)
    return [f"{place}: {setting}: {what} ({' '.join(check.__doc__.split())})" for check in RULES for place, setting, what in check(found)]


def main() -> int:
    template = sam.load(Path(sys.argv[1])) if len(sys.argv) > 1 else sam.load()
    findings = check(template) + check(sam.translate(template))
    for finding in findings:
        print(finding)
    print(f"{len(RULES)} rules, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
