"""Rule files against rules/rule.schema.json: those that ship and the sample with every key are
valid, and one broken thing at a time makes the sample invalid."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"
SAMPLE = Path(__file__).parent / "data" / "every_key.yaml"
NO_RULES = {"catalogue", "targets"}


def rule_files():
    """What RuleSet::load takes from rules/."""
    return sorted(
        path
        for path in RULES.rglob("*.yaml")
        if path.name != "isomorphisms.yaml"
        and not NO_RULES & set(path.relative_to(RULES).parts[:-1])
    )


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((RULES / "rule.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def mistakes(validator, document):
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def test_every_rule_file_is_valid(validator):
    for path in [SAMPLE, *rule_files()]:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert mistakes(validator, document) == [], path


def test_one_rule_alone_is_valid(validator):
    document = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    for rule in document["rules"]:
        assert mistakes(validator, rule) == []


def put(document, path, value):
    """Sets what the path leads to; deletes it where the value is None."""
    *way, last = path
    for step in way:
        document = document[step]
    if value is None:
        del document[last]
    else:
        document[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["id"], None),
        (["id"], "Not A Code"),
        (["summary"], " "),
        (["subject"], None),
        (["attention"], "yes"),
        (["rewrite"], "f($query)"),
        (["rewrites"], None),
        (["rewrites"], []),
        (["rewrit"], "f($query)"),
        (["match", "pattern"], "return $x"),
        (["match", "call"], None),
        (["where", 0, "absent"], "query"),
        (["where", 0, "says"], None),
        (["where", 0, "code"], None),
        (["where", 0, "rank"], {"of": "query"}),
        (["where", 0, "rank"], {"of": "$query", "is": 4}),
        (["where", 0, "rank"], {"of": "query", "is": "four"}),
        (["where", 2, "is"], {"of": "scale", "value": 1, "values": [1]}),
        (["where", 2, "is"], {"of": "scale", "value": {"a": 1}}),
        (["layout", "target"], None),
        (["layout", "result"], "bnsd"),
        (["rewrites", 0, "target"], "cpu"),
        (["rewrites", 0, "target"], []),
        (["rewrites", 0, "with"], None),
        (["triggers"], []),
        (["tests", 0, "refused"], "code"),
        (["tests", 0, "after"], None),
        (["tests", 0, "name"], None),
    ],
)
def test_one_mistake_makes_a_rule_invalid(validator, path, value):
    rule = copy.deepcopy(yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))["rules"][0])
    put(rule, path, value)
    assert mistakes(validator, rule) != []
