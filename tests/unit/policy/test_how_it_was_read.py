"""Built-in checks of how versions were read, and of the files that decide which code serves."""

import json

import pytest

from coordpath_governance.errors import PolicyError
from coordpath_governance.models.environment import Environment, Remark
from coordpath_governance.models.formats import DECLARED, FORMATS, format_of, plugin_source, source_of, vouched_source
from coordpath_governance.policy.built_in import BUILT_IN
from coordpath_governance.policy.judge import assess, judge
from coordpath_governance.policy.load import policy_bytes, read_policy
from coordpath_governance.policy.starting_policy import KINDS, starting_policy
from coordpath_governance.rendering.change_report import ChangeReport
from coordpath_governance.reports.version_parts import environments_of
from coordpath_governance.verification.verify import verify_report

PLUGIN = plugin_source("mine", "my-readers 1.2")


def read_as(document, **sources):
    models = {who: {**document.models[who], "source": source} for who, source in sources.items()}
    return document.model_copy(update={"models": {**document.models, **models}})


def outcome(judgement, rule):
    return next((each for each in judgement.results if each.rule == rule), None)


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("read from the model's files", "skops"),
        ("read from the model's files (a pickle, as data)", "pickle"),
        ("read from the model's files (a cloudpickle, as data)", "cloudpickle"),
        (DECLARED, "declared"),
        (vouched_source("Bob"), "declared"),
        (PLUGIN, "plugin:mine"),
        (plugin_source("x", "evil (plugin pickle)"), "plugin:x"),
        ("a fitted estimator in memory", None),
        ("read by x (plugin a b)", None),
        (None, None),
    ],
)
def test_the_words_of_a_report_tell_the_format(source, form):
    assert format_of(source) == form


def test_every_format_of_ours_has_words_of_its_own():
    assert {format_of(source_of(form)) for form in FORMATS if form != "declared"} == set(FORMATS) - {"declared"}


def test_without_a_list_what_we_read_ourselves_is_not_even_mentioned(policy_of, document):
    judged = judge(policy_of(), read_as(document, candidate=source_of("cloudpickle")))
    assert outcome(judged, "file formats") is None


@pytest.mark.parametrize(
    ("formats", "old", "new", "result"),
    [
        (["skops"], "skops", "skops", "pass"),
        (["skops"], "skops", "pickle", "fail"),
        (["skops"], "pickle", "skops", "review"),
        (["skops"], "pickle", "pickle", "fail"),
        (["skops", "pickle"], "pickle", "skops", "pass"),
        (["pickle"], "pickle", "cloudpickle", "fail"),
    ],
)
def test_a_policy_lists_formats(policy_of, document, formats, old, new, result):
    """A candidate in another format fails; leaving the champion's format behind is for a person."""
    changed = read_as(document, champion=source_of(old), candidate=source_of(new))
    found = outcome(judge(policy_of(formats=formats), changed, waived=BUILT_IN), "file formats")
    assert found.result == result
    assert found.limit == ", ".join(formats)
    assert found.observed == f"champion: {old}; candidate: {new}"


def test_a_first_version_is_checked_alone(policy_of, first_document):
    assert outcome(judge(policy_of(formats=["skops"]), first_document), "file formats").observed == "candidate: skops"


def test_declared_must_be_listed_too(policy_of, document):
    judged = judge(policy_of(formats=["skops"]), read_as(document, candidate=DECLARED))
    assert outcome(judged, "file formats").result == "fail"
    judged = judge(policy_of(formats=["skops", "declared"]), read_as(document, candidate=DECLARED))
    assert (outcome(judged, "file formats").result, outcome(judged, "declared coefficients").result) == ("pass", "unknown")


def test_both_declared_are_told_in_the_same_order_when_the_report_is_read_again(policy_of, document):
    """Canonical JSON sorts keys, so that the candidate comes first in a report that was read."""
    report = ChangeReport(assess(read_as(document, champion=DECLARED, candidate=DECLARED), policy_of()))
    again = ChangeReport.from_bytes(report.to_bytes()).document
    assert assess(again, policy_of()).assessment == report.document.assessment
    found = outcome(judge(policy_of(), again), "declared coefficients")
    assert found.observed == "declared, of the champion and the candidate"


def test_how_it_was_read_may_not_be_known(policy_of, document):
    judged = judge(policy_of(formats=["skops"]), read_as(document, candidate="a fitted estimator in memory"))
    assert outcome(judged, "file formats").result == "unknown"


def test_a_plugin_counts_only_where_the_policy_lists_it(policy_of, document):
    read = read_as(document, candidate=PLUGIN)
    found = outcome(judge(policy_of(), read), "file formats")
    assert (found.result, found.observed) == ("unknown", "champion: skops; candidate: plugin:mine")
    assert "somebody else's reader, which the policy does not list" in found.reason
    assert outcome(judge(policy_of(formats=["skops"]), read), "file formats").result == "fail"
    assert outcome(judge(policy_of(formats=["skops", "plugin:mine"]), read), "file formats").result == "pass"
    assert outcome(judge(policy_of(formats=["skops", "plugin:other"]), read), "file formats").result == "fail"


@pytest.mark.parametrize("formats", [[], ["joblib"], ["skops", "skops"], ["plugin:"], ["plugin:a b"], "skops", [1]])
def test_formats_are_a_closed_list(policy_text, formats):
    with pytest.raises(PolicyError, match="formats"):
        read_policy(json.dumps(policy_text(formats=formats)), "test")


@pytest.mark.parametrize("roles", [["policy-admin"], ["service"], ["a", "a"], [""], "a"])
def test_who_vouches_has_a_role_of_the_policys_own(policy_text, roles):
    with pytest.raises(PolicyError, match="declarations"):
        read_policy(json.dumps(policy_text(declarations={"roles": roles})), "test")


def test_policies_that_say_nothing_of_it_have_the_same_bytes_as_before(policy_of):
    assert b"formats" not in policy_bytes(policy_of())
    assert b"declarations" not in policy_bytes(policy_of())


@pytest.mark.parametrize("kind", KINDS)
def test_the_starting_policy_mentions_both_and_reads_with_them(kind):
    text = starting_policy("model", kind=kind)
    read_policy(text, "test")
    loosened = read_policy(text.replace("# declarations:", "declarations:").replace("# formats:", "formats:"), "test")
    assert loosened.declarations.roles == ("validator",)
    assert loosened.formats == FORMATS


def with_files(document, **facts):
    environment = Environment(**{"files": ("requirements.txt",), **facts})
    return document.model_copy(update={"environments": environments_of(None, environment)})


def test_a_report_that_tells_nothing_of_files_is_judged_as_before(policy_of, document):
    assert outcome(judge(policy_of(), document), "environment") is None
    champion = document.model_copy(update={"environments": environments_of(Environment(), None)})
    assert outcome(judge(policy_of(), champion), "environment") is None


@pytest.mark.parametrize("files", [(), ("requirements.txt",)])
def test_packages_by_name_pass(policy_of, document, files):
    assert outcome(judge(policy_of(), with_files(document, files=files)), "environment").result == "pass"


def test_a_remark_is_for_a_person_and_cannot_be_waived(policy_of, document):
    remarks = tuple(Remark("requirements.txt", n, f"another package index: -i https://e{n}.x\u202e") for n in range(1, 8))
    judged = judge(policy_of(), with_files(document, remarks=remarks), waived=BUILT_IN)
    found = outcome(judged, "environment")
    assert (found.result, found.observed) == ("review", "7 things to look at")
    assert "requirements.txt line 1: another package index: -i https://e1.x⟨U+202E⟩." in found.reason
    assert found.reason.endswith("And 2 more.")
    assert judged.verdict == "review"


def test_files_that_cannot_be_read_are_not_known(policy_of, document):
    found = outcome(judge(policy_of(), with_files(document, damaged=("conda.yaml cannot be read: x",))), "environment")
    assert (found.result, found.observed) == ("unknown", "not known")
    both = with_files(document, damaged=("x",), remarks=(Remark("a", None, "b"),))
    assert outcome(judge(policy_of(), both), "environment").result == "review"


def test_such_reports_verify_and_a_changed_remark_is_noticed(policy_of, document):
    told = with_files(document, remarks=(Remark("requirements.txt", 3, "a path: ./x"),))
    report = ChangeReport(assess(told, policy_of(formats=["skops"])))
    again = ChangeReport.from_bytes(report.to_bytes())
    assert verify_report(again).passed
    forged = json.loads(report.to_bytes())
    forged["environments"]["candidate"]["remarks"] = []
    assert not verify_report(ChangeReport.from_bytes(json.dumps(forged).encode())).passed
