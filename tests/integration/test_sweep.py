"""`coordpath sweep`: what lacks a report gets one, and what bypassed the guard is found."""

import json
import uuid

import pytest

from coordpath_governance.ledger.events import PolicyAdopted
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.policy.load import policy_bytes, policy_sha256
from coordpath_governance.reference.sources import open_source
from coordpath_governance.review.policies import adopted_policies
from coordpath_governance.signing.keys import PrivateKey

PEOPLE = {"Ann": "policy-admin", "Bob": "validator", "Cleo": "validator"}


class Swept:
    """A ledger of its own for one model of the shared store."""

    def __init__(self, store, coordpath, folder):
        self.store, self._coordpath, self.folder = store, coordpath, folder
        self.rules = {"steps": {"most": 100}}
        self.url = f"sqlite:///{folder / 'ledger.db'}"
        self.name = f"swept {uuid.uuid4().hex[:12]}"
        for owner, role in PEOPLE.items():
            signer = () if owner == "Ann" else ("--key", self.key("Ann"))
            assert self.run("key", "new", owner, "--role", role, "--out", self.key(owner), *signer).code == 0

    def key(self, owner):
        return self.folder / f"{owner}.pem"

    def run(self, *arguments):
        at = 2 if arguments[0] in ("key", "policy", "audit") else 1
        return self._coordpath(*arguments[:at], "--ledger", self.url, *arguments[at:])

    def adopt_policy(self, name="swept", aliases=("champion",), **reference):
        rows = self.store.rows.csv
        pinned = {"sha256": open_source(rows).sha256, "uri": str(rows), "role": "holdout", "target": "price"}
        path = self.folder / f"{uuid.uuid4().hex}.json"
        policy = {
            "schema": "coordpath.policy/1",
            "name": name,
            "models": [self.name, f"{self.name} *"],
            "reference": {**pinned, **reference},
            "rules": self.rules,
            "aliases": list(aliases),
            "materiality": [{"class": "any", "approvals": [{"role": "validator"}]}],
        }
        path.write_text(json.dumps(policy), encoding="utf-8")
        assert self.run("policy", "adopt", path, "--key", self.key("Ann")).code == 0

    def another(self, suffix, *models):
        """One more model under the policy."""
        return self.store.register(f"{self.name} {suffix}", *models)

    def set_champion(self, name, version="1"):
        self.store.client.set_registered_model_alias(name, "champion", version)

    def findings(self, *arguments):
        """The kinds and versions by model, and the exit code, as JSON tells them."""
        done = self.run("sweep", "--json", *arguments)
        document = json.loads(done.out)
        assert (document["schema"], document["exit_code"]) == ("coordpath.sweep/1", done.code)
        return document["findings"], done.code

    def adopt_twice(self):
        """A second policy that matches the same models, as an older version let one adopt."""
        policy = adopted_policies(Ledger.open(self.url))[0].policy.model_copy(update={"name": "another"})
        body = PolicyAdopted(policy=policy_sha256(policy), name="another", models=policy.models)
        key = PrivateKey.load(self.key("Ann"))
        Ledger.open(self.url).append("policy adopted", body, key, blob=policy_bytes(policy))

    def champion(self):
        assert self.run("sweep").code == 0
        for owner in ("Bob", "Cleo"):
            assert self.run("review", self.name, "1", "--approve", "--key", self.key(owner)).code == 0
        assert self.run("promote", self.name, "1").code == 0

    def events(self):
        return [entry.event for entry in Ledger.open(self.url).entries(self.name)]


@pytest.fixture
def swept(store, coordpath, tmp_path):
    made = Swept(store, coordpath, tmp_path)
    store.register(made.name, store.first, store.second)
    made.adopt_policy()
    return made


def test_what_lacks_a_report_gets_one_and_only_once(swept):
    first = swept.run("sweep")
    assert first.code == 0
    assert first.out.splitlines() == [
        f"reported  {swept.name}: version {version} has its report now; the gate says review" for version in (1, 2)
    ]
    assert swept.store.tags(swept.name, 2)["coordpath.verdict"] == "review"
    assert swept.run("sweep").out == "No registered model is under an adopted policy, or has anything to look at.\n"
    assert swept.events().count("report") == 2


def test_what_comes_after_the_champion_is_explained_from_it(swept):
    swept.champion()
    said = swept.run("sweep")
    assert said.code == 0
    assert said.out.splitlines() == [
        f"stands    {swept.name}: 'champion' is version 1, with the files that were promoted",
        f"reported  {swept.name}: version 2 has its report now; the gate says review",
    ]
    assert swept.store.tags(swept.name, 2)["coordpath.report_path"].endswith("v1-to-v2")


def test_a_move_outside_is_found_and_nothing_is_explained_from_it(swept):
    swept.champion()
    swept.store.client.set_registered_model_alias(swept.name, "champion", "2")
    for _ in range(2):
        said = swept.run("sweep")
        assert said.code == 1
        assert "moved     " in said.out
        assert "the ledger knows version 1 under 'champion', the registry had version 2" in said.plain
    assert swept.events().count("outside move") == 1
    assert swept.events().count("report") == 2


def test_a_move_of_an_alias_that_only_an_earlier_policy_guarded_is_found(swept):
    swept.champion()
    swept.adopt_policy(aliases=["production"])
    assert swept.findings()[1] == 0
    swept.set_champion(swept.name, "2")
    findings, code = swept.findings()
    assert (code, findings[0]["kind"]) == (1, "moved")
    assert "the ledger knows version 1 under 'champion', the registry had version 2" in findings[0]["text"]


def test_a_champion_whose_files_were_changed(store, coordpath, tmp_path):
    swept = Swept(store, coordpath, tmp_path)
    logged = store.fresh()
    store.register(swept.name, logged)
    swept.adopt_policy()
    swept.champion()
    (store.path(logged) / "python_env.yaml").write_text("python: 2.7\n")
    said = swept.run("sweep")
    assert said.code == 1
    assert "the files of version 1 are not those that were promoted" in said.plain


def test_a_model_that_was_deleted_is_missed(swept):
    swept.champion()
    other = swept.another("b", swept.store.first)
    swept.set_champion(other)
    assert swept.run("adopt", other, "--key", swept.key("Ann")).code == 0
    swept.store.client.delete_registered_model(swept.name)
    said = swept.run("sweep")
    assert said.code == 1
    assert "the registry had nothing" in said.plain


def test_a_registry_without_the_only_model_may_be_another_one(swept):
    swept.champion()
    before = swept.events()
    swept.store.client.delete_registered_model(swept.name)
    said = swept.run("sweep")
    assert said.code == 4
    assert "it has none of the models" in said.plain
    assert swept.events() == before


def test_what_fails_does_not_stop_the_rest(swept, tmp_path):
    swept.adopt_policy(uri=str(tmp_path / "gone.csv"))
    said = swept.run("sweep")
    assert said.code == 4
    assert [line.split(":")[0] for line in said.out.splitlines()] == [f"failed    {swept.name}"] * 2
    assert "no report on version 2: " in said.out
    swept.adopt_twice()
    said = swept.run("sweep")
    assert said.code == 4
    assert "2 policies match" in said.out


def test_files_that_cannot_be_had_now(swept, monkeypatch):
    from coordpath_governance.errors import RegistryError
    from coordpath_governance.registry import client_registry

    swept.champion()

    def down(*_):
        raise RegistryError("the artifact store does not answer")

    monkeypatch.setattr(client_registry, "download_files", down)
    said = swept.run("sweep")
    assert said.code == 4
    assert "the artifact store does not answer" in said.out


def test_a_champion_from_before_the_policy_is_not_a_move(swept):
    swept.set_champion(swept.name)
    for _ in range(2):
        said = swept.run("sweep")
        assert said.code == 0
        assert said.out.startswith(
            f"unguarded {swept.name}: version 1 of '{swept.name}' is 'champion' and not under guard yet"
        )
        assert f"coordpath adopt '{swept.name}'" in said.out
    assert swept.events() == []
    (finding,), code = swept.findings()
    assert (finding["kind"], finding["version"], finding["counts"], code) == ("unguarded", "1", False, 0)
    said = swept.run("gate", swept.name, "2")
    assert said.code == 1
    assert "not under guard yet" in said.out
    assert swept.run("adopt", swept.name, "--key", swept.key("Ann"), "--reason", "was champion").code == 0
    said = swept.run("sweep")
    assert (said.code, [line.split()[0] for line in said.out.splitlines()]) == (0, ["stands", "reported"])


def test_the_rules_that_are_not_met_are_named(swept):
    swept.champion()
    swept.rules = {"steps": {"most": 1}}
    swept.adopt_policy()
    findings, code = swept.findings()
    assert code == 0
    made = next(each for each in findings if each["kind"] == "reported")
    assert {"rule": "steps", "result": "fail"} in made["rules"]
    assert (made["name"], made["version"]) == (swept.name, "2")
    assert "the gate says fail (" in made["text"]
    assert "steps: fail" in made["text"]
    stands = next(each for each in findings if each["kind"] == "stands")
    assert (stands["version"], stands["rules"]) == ("1", [])


def tree(store):
    """A logged model that nobody explains."""
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    return store.log(model, serialization_format="cloudpickle")


def kinds(findings):
    return [(each["kind"], each.get("version"), each["counts"]) for each in findings]


def test_a_version_that_cannot_be_read_counts_once_and_only_if_it_is_the_newest(swept):
    swept.champion()
    assert swept.run("sweep").code == 0
    swept.store.register(swept.name, tree(swept.store))
    findings, code = swept.findings()
    assert (kinds(findings), code) == ([("stands", "1", True), ("unreadable", "3", True)], 4)
    for _ in range(2):
        findings, code = swept.findings()
        assert (kinds(findings)[1:], code) == ([("unreadable", "3", False)], 0)
    assert "no report on version 3: " in findings[1]["text"]
    assert swept.events().count("version unreadable") == 1
    swept.store.register(swept.name, tree(swept.store), swept.store.second)
    findings, code = swept.findings()
    assert (kinds(findings)[1:], code) == (
        [("unreadable", "3", False), ("unreadable", "4", False), ("reported", "5", True)],
        0,
    )
    assert "version unreadable" in swept.run("audit", "log", swept.name).out
    assert swept.run("audit", "verify").code == 0
    swept.set_champion(swept.name, "3")
    assert swept.run("sweep").code == 1


def test_a_version_whose_logged_model_was_deleted_counts_once(swept):
    swept.champion()
    logged = swept.store.fresh()
    swept.store.register(swept.name, logged)
    swept.store.client.delete_logged_model(logged.model_id)
    assert [swept.findings("--ignore", "other")[1] for _ in range(2)] == [4, 0]


def test_what_is_ignored_is_said_and_a_move_still_counts(swept, tmp_path):
    swept.champion()
    swept.adopt_policy(uri=str(tmp_path / "gone.csv"))
    assert swept.run("sweep").code == 4
    said = swept.run("sweep", "--ignore", "nothing*", "--ignore", f"{swept.name[:-3]}*")
    assert said.code == 0
    nothing = "no report was tried and nothing counts but a move or an open emergency rollback"
    assert said.out == f"ignored   {swept.name}: as --ignore says, {nothing}\n"
    swept.store.client.set_registered_model_alias(swept.name, "champion", "2")
    findings, code = swept.findings("--ignore", swept.name)
    assert ([each["kind"] for each in findings], code) == (["moved", "ignored"], 1)


def test_what_is_ignored_says_what_does_not_count(swept):
    swept.set_champion(swept.name)
    said = swept.run("sweep", "--ignore", swept.name)
    assert said.code == 0
    assert "not counted: unguarded: version 1 of" in said.out


def test_only_some_models(swept):
    other = swept.another("b", swept.store.first)
    said = swept.run("sweep", "--model", other)
    assert said.out == f"reported  {other}: version 1 has its report now; the gate says review\n"
    assert swept.events() == []
    said = swept.run("sweep", "--model", swept.name, "--model", other)
    assert [line.split(":")[0] for line in said.out.splitlines()] == [f"reported  {swept.name}"] * 2
    said = swept.run("sweep", "--model", "no such model")
    assert said.code == 2
    assert "neither the registry sqlite:" in said.err
    free = swept.store.two_versions()
    said = swept.run("sweep", "--model", free)
    assert (said.code, said.out.split()[0]) == (4, "failed")


def test_only_versions_since_a_day(swept):
    for since in ("2999-01-01", "0", "2999-01-01T10:00:00+02:00"):
        assert swept.run("sweep", "--since", since).out.startswith("No registered model"), since
    assert swept.findings("--since", "0") == ([], 0)
    assert len(swept.findings("--since", "1")[0]) == 2
    for wrong in ("yesterday", "-3", "99999999999", "2026-13-01", "²"):
        said = swept.run("sweep", f"--since={wrong}")
        assert said.code == 2, wrong
        assert "give a day such as" in said.err, wrong


def test_a_registry_of_many_pages(swept, monkeypatch):
    from coordpath_governance.registry import versions as listing

    monkeypatch.setattr(listing, "_PAGE", 2)
    names = [swept.another(letter, swept.store.first) for letter in "abcde"]
    findings, code = swept.findings()
    assert [each["name"] for each in findings] == [swept.name, swept.name, *names]
    assert code == 0
    assert set(names) <= set(listing.registered_names(swept.store.client))


def test_everything_that_is_not_under_guard_yet_is_adopted_at_once(swept):
    store = swept.store
    pickled = swept.another("pickled", store.log(explainable(store), serialization_format="cloudpickle"))
    unread = swept.another("tree", tree(store))
    empty = swept.another("empty", store.first)
    gone = swept.another("gone", lost := store.fresh())
    moved = swept.another("moved", store.first, store.second)
    for name in (swept.name, pickled, unread, gone, moved):
        swept.set_champion(name)
    assert swept.run("adopt", moved, "--key", swept.key("Ann")).code == 0
    swept.set_champion(moved, "2")
    store.client.delete_logged_model(lost.model_id)
    free = store.two_versions()
    store.client.set_registered_model_alias(free, "champion", "1")

    arguments = ("adopt", "--all", "--reason", "as they stood", "--key", swept.key("Ann"))
    said = swept.run(*arguments)
    assert said.code == 1
    lines = [line.split(":")[0] for line in said.out.splitlines()[:-1]]
    assert lines == [
        f"adopted  {swept.name}",
        f"nothing  {empty}",
        f"failed   {gone}",
        f"moved    {moved}",
        f"adopted  {pickled}",
        f"adopted  {unread}",
    ]
    assert said.out.endswith("No rule was checked.\n")
    ledger = Ledger.open(swept.url)
    assert ledger.entries(free) == ()
    assert [entry.event for entry in ledger.entries(moved)] == ["adoption", "outside move"]
    assert swept.run("adopt", moved, "--key", swept.key("Ann"), "--reason", "looked into").code == 0
    said = swept.run(*arguments)
    assert said.code == 4
    assert "guarded " in said.out
    assert "adopted " not in said.out
    store.client.delete_registered_model(gone)
    assert swept.run(*arguments).code == 0
    assert swept.events() == ["adoption"]


def explainable(store):
    """A pipeline that can be explained, to be pickled."""
    from helpers.mlflow_store import pipeline

    return pipeline(store.rows.frame[40:])


def test_a_pickled_champion_is_where_the_next_change_starts(swept):
    store = swept.store
    name = swept.another("pickled", store.log(explainable(store), serialization_format="cloudpickle"), store.second)
    swept.set_champion(name)
    assert swept.run("adopt", "--all", "--key", swept.key("Ann")).code == 0
    findings, code = swept.findings("--model", name)
    assert (kinds(findings), code) == ([("stands", "1", True), ("reported", "2", True)], 0)
    for owner in ("Bob", "Cleo"):
        assert swept.run("review", name, "2", "--approve", "--key", swept.key(owner)).code == 0
    assert swept.run("promote", name, "2").code == 0


def test_adopting_at_once_needs_an_admins_key_and_one_model_or_all(swept):
    swept.set_champion(swept.name)
    assert swept.run("adopt", "--all", "--key", swept.key("Bob")).code == 2
    assert swept.events() == []
    for wrong in ((), (swept.name, "--all"), ("--all", "--alias", "champion"), ("--all", "--created-again")):
        assert swept.run("adopt", *wrong, "--key", swept.key("Ann")).code == 2
    swept.adopt_twice()
    said = swept.run("adopt", "--all", "--key", swept.key("Ann"))
    assert said.code == 4
    assert "2 policies match" in said.out


def test_adopting_at_once_where_no_policy_matches(store, coordpath, tmp_path):
    swept = Swept(store, coordpath, tmp_path)
    said = swept.run("adopt", "--all", "--key", swept.key("Ann"))
    assert (said.code, said.out) == (0, "No registered model is under an adopted policy.\n")
