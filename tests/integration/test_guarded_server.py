"""`mlflow server --registry-store-uri coordpath:sqlite:///…`: what plain clients may do, may not do, and do not gain."""

import json
import uuid
from pathlib import Path

import mlflow
import pytest
import requests
from helpers.mlflow_server import PATIENT, mlflow_server
from helpers.mlflow_store import Store, use
from mlflow.exceptions import MlflowException
from mlflow.tracking._model_registry.utils import _get_store
from sklearn.ensemble import RandomForestRegressor

import coordpath_governance as cg
from coordpath_governance.canonical import sha256_hex
from coordpath_governance.guarded.inner_registry import InnerRegistry
from coordpath_governance.ledger.events import KeyAdded, KeyFacts, PolicyAdopted
from coordpath_governance.ledger.store import Ledger
from coordpath_governance.models import LinearModel, NumericTerm
from coordpath_governance.policy.load import policy_bytes, policy_sha256, read_policy
from coordpath_governance.review.decisions import adopt_standing, approve
from coordpath_governance.review.gate import ask_gate
from coordpath_governance.review.policies import policy_for
from coordpath_governance.signing.keys import new_key

pytestmark = [pytest.mark.server, pytest.mark.no_cover]
IS_PROMPT = "mlflow.prompt.is_prompt"
DIALECTS = ("api", "ajax-api")


class Guarded:
    """A guarded server, seen through a plain client; its ledger and its database, seen by those who run it."""

    def __init__(self, store, folder, ledger):
        self.store = store
        self.uri = store.uri
        self.client = store.client
        self.ledger = ledger
        self.database = f"sqlite:///{folder / 'mlflow.db'}"
        self.ledger_url = f"sqlite:///{folder / 'coordpath-ledger.db'}"
        self.keys = {}

    def person(self, owner, *roles):
        """A new key in the ledger."""
        key = new_key()
        facts = KeyFacts(id=key.public.id, public=key.public.text, owner=owner, roles=roles)
        self.ledger.append("key added", KeyAdded(key=facts), self.keys.get("admin", key))
        self.keys[owner] = key

    def adopt_policy(self, name="prices", pattern="guarded *", declarations=None, emergency=None, **reference):
        pinned = {"sha256": sha256_hex(self.store.rows.csv.read_bytes()), "role": "holdout", "target": "price"}
        policy = {
            "schema": "coordpath.policy/1",
            "name": name,
            "models": [pattern],
            "reference": {**pinned, **reference},
            "rules": {"steps": {"most": 100}},
            "materiality": [{"class": "any", "approvals": [{"role": "owner"}]}],
            **({"declarations": declarations} if declarations else {}),
            **({"emergency": emergency} if emergency else {}),
        }
        policy = read_policy(json.dumps(policy), "test")
        facts = PolicyAdopted(policy=policy_sha256(policy), name=policy.name, models=policy.models)
        self.ledger.append("policy adopted", facts, self.keys["admin"], blob=policy_bytes(policy))

    def inner(self):
        """The registry as only those who run the server reach it."""
        return InnerRegistry(_get_store(self.database), self.uri)

    def champion(self, name=None):
        """A guarded model with versions 1 and 2 whose champion, version 1, was taken under guard as it stood."""
        name = self.store.two_versions(name or f"guarded {uuid.uuid4().hex}")
        self.inner().set_alias(name, "champion", "1")
        adopt_standing(self.ledger, self.inner(), name, "champion", self.keys["admin"], reason="as it was")
        return name

    def free(self):
        return self.store.two_versions(f"free {uuid.uuid4().hex}")

    def call(self, dialect, method, path, body):
        url = f"{self.uri}/{dialect}/2.0/mlflow/{path}"
        return requests.request(method, url, json=body, timeout=60)

    def events(self, name):
        return [entry.event for entry in self.ledger.entries(name)]

    def stands(self, name):
        """The champion as every client sees it, and that lists show the model."""
        assert [found.name for found in self.client.search_registered_models(f"name = '{name}'")] == [name]
        return str(self.client.get_model_version_by_alias(name, "champion").version)


@pytest.fixture(scope="module")
def _guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded server")
    registry = f"sqlite:///{folder / 'mlflow.db'}"
    ledger = Ledger.open(f"sqlite:///{folder / 'coordpath-ledger.db'}")
    options = ("--backend-store-uri", registry, "--registry-store-uri", f"coordpath:{registry}")
    proxied = ("--serve-artifacts", "--artifacts-destination", folder / "artifacts")
    with mlflow_server(folder, *options, *proxied, workers=2) as uri:
        guarded = Guarded(Store(uri, tmp_path_factory.mktemp("plain client"), None), folder, ledger)
        guarded.person("admin", "policy-admin")
        for owner in ("ann", "bea"):
            guarded.person(owner, "owner")
        guarded.adopt_policy()
        guarded.adopt_policy("at once", "at once *", uri=str(guarded.store.rows.csv))
        guarded.adopt_policy("declared", "declared *", {"roles": ["owner"]}, uri=str(guarded.store.rows.csv))
        guarded.adopt_policy("urgent", "urgent *", emergency={"roles": ["owner"], "days": 2})
        guarded.adopt_policy("no data", "no data *", uri=str(folder / "nowhere.csv"))
        yield guarded


@pytest.fixture
def guarded(_guarded, monkeypatch):
    """The guarded server's store, as MLflow's current one while the test runs."""
    for name, value in {"MLFLOW_TRACKING_URI": _guarded.uri, **PATIENT}.items():
        monkeypatch.setenv(name, value)
    use(_guarded.uri)
    yield _guarded
    use(None)


def refused(call, *args, **options):
    """The message with which a plain client is told no."""
    with pytest.raises(MlflowException) as caught:
        call(*args, **options)
    assert caught.value.error_code == "PERMISSION_DENIED"
    return caught.value.message


REFUSED = {
    "set alias": ("POST", "registered-models/alias", {"alias": "champion", "version": "2"}, "coordpath report"),
    "delete alias": ("DELETE", "registered-models/alias", {"alias": "champion"}, "promote another version"),
    "stage": ("POST", "model-versions/transition-stage", {"version": "2", "stage": "Production"}, "coordpath promote"),
    "delete version": ("DELETE", "model-versions/delete", {"version": "1"}, "promote another first"),
    "delete model": ("DELETE", "registered-models/delete", {}, "is not deleted"),
    "rename away": ("POST", "registered-models/rename", {"new_name": "elsewhere"}, "leave its policy"),
    "hide model": ("POST", "registered-models/set-tag", {"key": IS_PROMPT, "value": "true"}, "would hide"),
    "unhide model": ("DELETE", "registered-models/delete-tag", {"key": IS_PROMPT}, "would hide"),
    "hide version": ("POST", "model-versions/set-tag", {"version": "1", "key": IS_PROMPT, "value": "true"}, "would hide"),
    "unhide version": ("DELETE", "model-versions/delete-tag", {"version": "1", "key": IS_PROMPT}, "would hide"),
    "create hidden": ("POST", "registered-models/create", {"tags": [{"key": IS_PROMPT, "value": "true"}]}, "would hide"),
    "version hidden": (
        *("POST", "model-versions/create"),
        *({"source": "dummy-source", "tags": [{"key": IS_PROMPT, "value": "true"}]}, "would hide"),
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_guarded_operation_is_403_with_reason_and_next_step(guarded, dialect):
    name = guarded.champion()
    for what, (method, path, body, says) in REFUSED.items():
        answer = guarded.call(dialect, method, path, {"name": name, **body})
        assert answer.status_code == 403, (what, answer.text)
        told = answer.json()
        assert told["error_code"] == "PERMISSION_DENIED", what
        assert told["message"].startswith("coordpath refuses '"), what
        assert says in told["message"], what
        assert name in told["message"], what
    assert guarded.stands(name) == "1"
    same_twice = 1  # the last two say the same, one after the other, and are recorded once
    assert guarded.events(name).count("refusal") == len(REFUSED) - same_twice


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_model_is_not_renamed_onto_a_guarded_name(guarded, dialect):
    free = guarded.free()
    body = {"name": free, "new_name": f"guarded {uuid.uuid4().hex}"}
    answer = guarded.call(dialect, "POST", "registered-models/rename", body)
    assert answer.status_code == 403
    assert "register the model under it instead" in answer.json()["message"]
    assert guarded.client.get_registered_model(free).name == free


def test_the_unguarded_works_as_ever(guarded):
    client, name, free = guarded.client, guarded.champion(), guarded.free()
    for model in (name, free):
        client.set_registered_model_alias(model, "challenger", "2")
        assert str(client.get_model_version_by_alias(model, "challenger").version) == "2"
        client.delete_registered_model_alias(model, "challenger")
        client.set_registered_model_tag(model, "team", "risk")
        client.set_model_version_tag(model, "1", "a", "b")
        client.update_registered_model(model, "text")
        assert client.get_registered_model(model).description == "text"
        assert len(client.search_model_versions(f"name = '{model}'")) == 2
        client.delete_model_version(model, "2")
    client.transition_model_version_stage(free, "1", "Production")
    client.rename_registered_model(free, f"{free} again")
    client.delete_registered_model(f"{free} again")
    client.set_registered_model_alias(name, "champion", "1")
    assert guarded.stands(name) == "1"


def test_a_champion_that_no_policy_knows_is_refused(guarded):
    assert "polic" in refused(guarded.client.set_registered_model_alias, guarded.free(), "champion", "1")


def test_wrong_arguments_are_the_callers_errors(guarded):
    name = guarded.free()
    for alias, version, code in (("other", "99", "RESOURCE_DOES_NOT_EXIST"), ("other", "x", "INVALID_PARAMETER_VALUE")):
        with pytest.raises(MlflowException) as caught:
            guarded.client.set_registered_model_alias(name, alias, version)
        assert caught.value.error_code == code


def test_registering_is_recorded_with_the_files_digest_and_nobody_as_author(guarded):
    name = f"guarded {uuid.uuid4().hex}"
    guarded.client.create_registered_model(name)
    source = guarded.store.first
    body = {"name": name, "source": source.uri, "run_id": source.run_id, "model_id": source.model_id}
    url = f"{guarded.uri}/api/2.0/mlflow/model-versions/create"
    answer = requests.post(url, json=body, auth=("ann", "whatever"), timeout=60)
    assert answer.status_code == 200, answer.text
    (entry,) = guarded.ledger.entries(name)
    assert (entry.event, entry.body["version"]) == ("registration", "1")
    assert entry.body["digest"] == guarded.inner().digest(name, "1")
    assert entry.body["author"] is None
    assert entry.body["authenticated_by"] is None


def test_prompts_are_no_way_round(guarded):
    client, name = guarded.client, guarded.champion()
    remote = _get_store(guarded.uri)  # the client itself looks first whether it is a prompt
    refused(remote.set_prompt_alias, name, "champion", 2)
    refused(remote.delete_prompt_alias, name, "champion")
    refused(remote.delete_prompt, name)
    refused(remote.delete_prompt_version, name, "1")
    refused(remote.set_prompt_tag, name, IS_PROMPT, "true")
    refused(remote.set_prompt_version_tag, name, 1, IS_PROMPT, "true")
    refused(remote.create_prompt, f"guarded {uuid.uuid4().hex}")
    refused(remote.create_prompt_version, name, "text")
    assert guarded.stands(name) == "1"
    client.register_prompt("greeting", "Hello {{name}}")
    assert client.load_prompt("greeting", 1).template == "Hello {{name}}"


def test_a_copy_with_tags_our_tags_by_hand_and_other_writings_of_a_version_gain_nothing(guarded):
    client, name, free = guarded.client, guarded.champion(), guarded.free()
    ours = {"verdict": "pass", "status": "optimal", "subject": f"{name}/3@sha256:{'0' * 64}", "report_sha256": "0" * 64}
    for key, value in ours.items():
        client.set_model_version_tag(free, "2", f"coordpath.{key}", value)
        client.set_model_version_tag(name, "2", f"coordpath.{key}", value)
    copied = client.copy_model_version(f"models:/{free}/2", name)
    assert copied.tags["coordpath.verdict"] == "pass"
    assert guarded.events(name)[-1] == "registration"
    for version in (copied.version, "2", "02", " 2", "２", "0_2"):
        assert "no report" in refused(client.set_registered_model_alias, name, "champion", version)
    assert guarded.stands(name) == "1"


def test_renaming_away_and_back_and_deleting_and_making_anew_gain_nothing(guarded):
    client, name = guarded.client, guarded.champion()
    refused(client.rename_registered_model, name, f"free {uuid.uuid4().hex}")
    refused(client.delete_registered_model, name)
    with pytest.raises(MlflowException, match="already exists"):
        client.create_registered_model(name)
    refused(client.set_registered_model_tag, name, IS_PROMPT, "true")
    refused(client.set_registered_model_tag, name, IS_PROMPT.upper(), "true")
    refused(client.set_registered_model_alias, name, "champion", "2")
    assert guarded.stands(name) == "1"


def test_what_is_moved_behind_the_servers_back_is_found_and_stops_promotion(guarded):
    name = guarded.champion()
    guarded.inner().set_alias(name, "champion", "2")
    said = refused(guarded.client.set_registered_model_alias, name, "champion", "1")
    assert "moved outside the gate" in said
    assert "outside move" in guarded.events(name)


def test_what_passes_the_gate_is_promoted_by_a_plain_client(guarded, coordpath, tmp_path):
    name = guarded.champion()
    made = coordpath("report", name, "--ledger", guarded.ledger.url, *guarded.store.rows.args, "--role", "holdout")
    assert made.code == 0, made.err
    for owner in ("ann", "bea"):
        said = refused(guarded.client.set_registered_model_alias, name, "champion", "2")
        assert "coordpath review" in said
        adopted = policy_for(guarded.ledger, name)
        readiness = ask_gate(guarded.ledger, guarded.inner(), adopted, name=name, alias="champion", version="2").readiness
        approve(guarded.ledger, readiness, adopted.policy, guarded.keys[owner], comment="fine", days=None)
    guarded.client.set_registered_model_alias(name, "champion", "2")
    assert guarded.stands(name) == "2"
    assert guarded.events(name)[-3:] == ["intent", "promotion", "decision record"]
    refused(guarded.client.delete_model_version, name, "2")


@pytest.fixture
def waiting(guarded, coordpath, tmp_path, monkeypatch):
    """A champion, and a version with its report that waits for two approvals; commands find no ledger by themselves."""
    name = guarded.champion()
    made = coordpath("report", name, "--ledger", guarded.ledger_url, *guarded.store.rows.args, "--role", "holdout")
    assert made.code == 0, made.err
    for owner in ("ann", "bea"):
        guarded.keys[owner].save(tmp_path / f"{owner}.pem")
    monkeypatch.delenv("COORDPATH_LEDGER", raising=False)
    monkeypatch.delenv("COORDPATH_SERVICE_KEY", raising=False)
    return name


def approved_by_all(guarded, coordpath, folder, name, version="2"):
    for owner in ("ann", "bea"):
        said = coordpath(
            "review", name, version, "--approve", "--ledger", guarded.ledger_url, "--key", folder / f"{owner}.pem"
        )
        assert said.code == 0, said.err


def promotions(guarded, name):
    """Of every promotion who asked, who vouches for that, and how it was completed."""
    facts = [entry.facts for entry in guarded.ledger.entries(name)]
    intents = [each for each in facts if type(each).__name__ == "Intent"]
    done = [(each.actor, each.authenticated_by, each.completed) for each in facts if type(each).__name__ == "Promotion"]
    assert [(each.actor, each.authenticated_by) for each in intents] == [each[:2] for each in done]
    return done


def test_promote_asks_the_registry_which_decides_records_and_says_at_once(guarded, coordpath, tmp_path, waiting):
    """Only the registry's URL: no ledger, no service key. Rolling back is the same command."""
    refusal = coordpath("promote", waiting, "2")
    assert refusal.code == 3, refusal.plain
    assert "the registry answered: coordpath refuses 'set alias'" in refusal.plain
    assert "Still needed: 2 approvals by owner" in refusal.plain
    approved_by_all(guarded, coordpath, tmp_path, waiting)
    done = coordpath("promote", waiting, "2", "--key", tmp_path / "ann.pem")
    assert done.code == 0, done.err
    assert f"{waiting} version 2 is 'champion'" in done.plain
    assert guarded.stands(waiting) == "2"
    assert "coordpath.request" not in guarded.store.tags(waiting, 2)
    stored = guarded.client.get_model_version(waiting, "2")
    assert (stored.tags["coordpath.verdict"], stored.tags["coordpath.decision"]) == ("pass", "promoted")
    assert "**✔ Promoted to champion on " in stored.description
    assert "By ann; approved by ann (owner), bea (owner)." in stored.description
    back = coordpath("report", waiting, "--candidate", "1", "--ledger", guarded.ledger_url, *guarded.store.rows.args)
    assert back.code == 0, back.err
    approved_by_all(guarded, coordpath, tmp_path, waiting, "1")
    assert "recorded it in ledger" in coordpath("promote", waiting, "1").plain
    again = coordpath("promote", waiting, "1")
    assert again.code == 0
    assert "version 1 is 'champion': it was before" in again.plain
    assert promotions(guarded, waiting) == [("ann", "key", "at once"), (None, None, "at once")]
    audited = coordpath("audit", "verify", "--ledger", guarded.ledger_url)
    assert "intact" in audited.out, audited.out


def test_an_emergency_rollback_needs_only_the_registrys_url_and_a_key(guarded, coordpath, tmp_path, monkeypatch):
    name = guarded.champion(f"urgent {uuid.uuid4().hex}")
    made = coordpath("report", name, "--ledger", guarded.ledger_url, *guarded.store.rows.args, "--role", "holdout")
    assert made.code == 0, made.err
    for owner in ("ann", "bea"):
        guarded.keys[owner].save(tmp_path / f"{owner}.pem")
    for variable in ("COORDPATH_LEDGER", "COORDPATH_SERVICE_KEY"):
        monkeypatch.delenv(variable, raising=False)
    approved_by_all(guarded, coordpath, tmp_path, name)
    assert coordpath("promote", name, "2").code == 0
    new_key().save(tmp_path / "stranger.pem")
    already = coordpath("promote", name, "2", "--emergency", "--reason", "it fails", "--key", tmp_path / "ann.pem")
    assert already.code == 1
    assert "is 'champion' already; there is nothing to roll back" in already.plain
    back = ("promote", name, "1", "--emergency", "--reason", "it fails", "--key")
    stranger = coordpath(*back, tmp_path / "stranger.pem")
    assert stranger.code == 1
    assert "is not a request that counts" in stranger.plain
    assert guarded.stands(name) == "2"
    done = coordpath(*back, tmp_path / "ann.pem")
    assert done.code == 0, done.err
    assert "the registry let it, and recorded it" in done.plain
    assert guarded.stands(name) == "1"
    assert guarded.events(name)[-3:] == ["emergency", "promotion", "decision record"]
    assert "coordpath.request" not in guarded.store.tags(name, 1)
    again = coordpath("promote", name, "2", "--emergency", "--reason", "back", "--key", tmp_path / "ann.pem")
    assert again.code == 1
    assert "the registry answered: " in again.plain
    gate = coordpath("gate", name, "1", "--ledger", guarded.ledger_url)
    assert gate.code == 1
    assert "emergency rollback of " in gate.plain
    reviewing = ("review", name, "1", "--approve", "--ledger", guarded.ledger_url, "--key")
    assert coordpath(*reviewing, tmp_path / "ann.pem").code == 1
    assert coordpath(*reviewing, tmp_path / "bea.pem").code == 0
    assert coordpath("gate", name, "1", "--ledger", guarded.ledger_url).code == 0
    assert "intact" in coordpath("audit", "verify", "--ledger", guarded.ledger_url).out


def test_a_page_changed_between_approval_and_promotion_refuses_the_promotion(guarded, coordpath, tmp_path, waiting):
    approved_by_all(guarded, coordpath, tmp_path, waiting)
    stored = guarded.client.get_model_version(waiting, "2")
    page = f"{stored.tags['coordpath.report_path']}/change_report.html"
    place = guarded.client.get_logged_model(stored.source.removeprefix("models:/")).model_id
    (tmp_path / "change_report.html").write_text("<p>All is well.</p>", encoding="utf-8")
    guarded.client.log_model_artifact(place, str(tmp_path / "change_report.html"), page.rpartition("/")[0])
    asked = coordpath("promote", waiting, "2")
    assert asked.code == 1
    assert "checks fails: pages" in asked.plain
    assert "pages" in refused(guarded.client.set_registered_model_alias, waiting, "champion", "2")
    mended = coordpath("report", waiting, "--candidate", "2", "--ledger", guarded.ledger_url)
    assert mended.code == 0, mended.err
    assert "Attached again to" in mended.plain
    assert coordpath("promote", waiting, "2").code == 0


def test_a_registry_that_says_no_for_good_and_a_key_that_it_does_not_know(guarded, coordpath, tmp_path, waiting):
    new_key().save(tmp_path / "stranger.pem")
    stranger = coordpath("promote", waiting, "2", "--key", tmp_path / "stranger.pem")
    assert stranger.code == 1
    assert "is not a request that counts" in stranger.plain
    assert "coordpath.request" not in guarded.store.tags(waiting, 2)
    free = coordpath("promote", waiting, "2", "--alias", "Champion")
    assert free.code == 1
    assert "looks like a guarded alias" in free.plain
    assert guarded.stands(waiting) == "1"


def test_a_report_on_a_guarded_registry_without_its_ledger_replaces_nothing(guarded, coordpath, waiting):
    before = guarded.store.tags(waiting, 2)
    made = coordpath("report", waiting, *guarded.store.rows.args)
    assert made.code == 2
    assert f"of ledger {guarded.ledger.id}" in made.plain
    assert guarded.store.tags(waiting, 2) == before


def test_a_version_once_promoted_and_the_tags_are_deleted_only_after_retiring(guarded, coordpath, tmp_path, waiting):
    approved_by_all(guarded, coordpath, tmp_path, waiting)
    assert coordpath("promote", waiting, "2").code == 0
    said = refused(guarded.client.delete_model_version, waiting, "1")
    assert "coordpath retire" in said
    assert "coordpath retire" in refused(guarded.client.delete_model_version_tag, waiting, "2", "coordpath.report_sha256")
    guarded.keys["admin"].save(tmp_path / "admin.pem")
    asked = ("retire", waiting, "1", "--reason", "data withdrawn", "--ledger", guarded.ledger_url)
    assert coordpath(*asked, "--key", tmp_path / "ann.pem").code == 2
    done = coordpath(*asked, "--key", tmp_path / "admin.pem")
    assert done.code == 0, done.err
    assert f"Version 1 of {waiting} may be deleted from the registry now" in done.plain
    guarded.client.delete_model_version(waiting, "1")
    log = coordpath("audit", "log", waiting, "--ledger", guarded.ledger_url)
    assert "version 1 may be deleted: data withdrawn" in " ".join(log.plain.split())


@pytest.mark.parametrize(
    "command",
    [
        ("gate", "{}", "2"),
        ("review", "{}", "2", "--approve"),
        ("waive", "{}", "2", "steps", "--reason", "x"),
        ("adopt", "{}"),
        ("retire", "{}", "1", "--reason", "x"),
        ("sweep",),
        ("promote", "{}", "2", "--dry-run"),
    ],
    ids=lambda command: command[0],
)
def test_commands_that_open_the_ledger_themselves_say_so_where_it_is_missing(coordpath, tmp_path, waiting, command):
    key = ("--key", tmp_path / "ann.pem") if command[0] in ("review", "waive", "adopt", "retire") else ()
    said = coordpath(*(part.format(waiting) for part in command), *key)
    assert said.code == 2
    assert "opens the ledger itself" in said.plain
    assert "--ledger" in said.plain


def test_a_client_that_guards_itself_leaves_the_decision_to_the_server(guarded, coordpath, tmp_path, waiting, monkeypatch):
    """With a ledger or without one: two guards, one behind the other, make one promotion, and nothing has crashed."""
    client = mlflow.MlflowClient(guarded.uri, f"coordpath:{guarded.uri}")
    said = refused(client.set_registered_model_alias, waiting, "champion", "2")
    assert "the registry answered: coordpath refuses 'set alias'" in said
    approved_by_all(guarded, coordpath, tmp_path, waiting)
    monkeypatch.setenv("COORDPATH_LEDGER", guarded.ledger_url)
    monkeypatch.setenv("COORDPATH_KEY", str(tmp_path / "ann.pem"))
    with_ledger = mlflow.MlflowClient(guarded.uri, f"coordpath:{guarded.uri}")
    with_ledger.set_registered_model_alias(waiting, "champion", "2")
    assert guarded.stands(waiting) == "2"
    assert "coordpath.request" not in guarded.store.tags(waiting, 2)
    assert promotions(guarded, waiting) == [("ann", "key", "at once")]


def test_a_client_that_guards_itself_records_only_what_the_server_could_not(guarded, tmp_path, monkeypatch):
    """Of several registrations the newest counts, so one without an author would hide whom the server knows."""
    name = f"free {uuid.uuid4().hex}"
    monkeypatch.setenv("COORDPATH_LEDGER", guarded.ledger_url)
    client = mlflow.MlflowClient(guarded.uri, f"coordpath:{guarded.uri}")
    client.create_registered_model(name)
    logged = guarded.store.first
    client.create_model_version(name, logged.uri, logged.run_id, model_id=logged.model_id)
    assert [entry.body["author"] for entry in guarded.ledger.entries(name)] == [None]
    guarded.keys["ann"].save(tmp_path / "ann.pem")
    monkeypatch.setenv("COORDPATH_KEY", str(tmp_path / "ann.pem"))
    client.create_model_version(name, logged.uri, logged.run_id, model_id=logged.model_id)
    assert [entry.body["author"] for entry in guarded.ledger.entries(name)] == [None, None, "ann"]


def test_a_client_around_the_server_has_no_ledger_and_says_so(guarded, monkeypatch):
    monkeypatch.delenv("COORDPATH_LEDGER", raising=False)
    client = mlflow.MlflowClient(guarded.uri, f"coordpath:{guarded.uri}/")
    name = guarded.champion()
    assert client.get_registered_model(name).aliases == {"champion": "1"}
    assert "COORDPATH_LEDGER" in refused(client.delete_registered_model_alias, name, "champion")


def test_a_request_for_an_alias_that_is_not_guarded_does_not_stay(guarded, coordpath, tmp_path, waiting):
    """It would stop the next promotion of the version."""
    assert coordpath("promote", waiting, "2", "--alias", "shadow", "--key", tmp_path / "ann.pem").code == 0
    assert guarded.client.get_model_version_by_alias(waiting, "shadow").version == "2"
    assert "coordpath.request" not in guarded.store.tags(waiting, 2)


def test_registering_makes_the_report_at_once(guarded):
    """In a process beside the server's, which serves artifacts that this process reaches directly."""
    name = guarded.store.register(f"at once {uuid.uuid4().hex}", guarded.store.fresh())
    assert guarded.events(name) == ["registration", "report", "verdict"]
    tags = guarded.store.tags(name, 1)
    assert tags["coordpath.verdict"] == "review"
    source = guarded.client.get_model_version(name, "1").source
    location = guarded.client.get_logged_model(source.removeprefix("models:/")).artifact_location
    page = mlflow.artifacts.download_artifacts(artifact_uri=f"{location}/{tags['coordpath.report_path']}/change_report.html")
    assert "Change report" in Path(page).read_text(encoding="utf-8")


def test_registering_does_not_fail_because_its_report_does(guarded):
    name = guarded.store.register(f"no data {uuid.uuid4().hex}", guarded.store.fresh())
    assert str(guarded.client.get_model_version(name, "1").version) == "1"
    assert guarded.events(name) == ["registration"]
    assert "has no report in the ledger" in refused(guarded.client.set_registered_model_alias, name, "champion", "1")


def test_a_person_vouches_for_a_version_that_cannot_be_read_through_the_server(guarded, coordpath, tmp_path):
    """The server's own store holds the files; the command lays its document beside them and changes none."""
    store, name = guarded.store, f"declared {uuid.uuid4().hex}"
    frame = store.rows.frame
    forest = RandomForestRegressor(n_estimators=2, random_state=0).fit(frame[["area", "age"]], frame["price"])
    store.register(name, store.log(forest, serialization_format="cloudpickle"))
    cg.to_coefficients(LinearModel(1.0, (NumericTerm("area", 2.0),)), tmp_path / "coefficients.json")
    for owner in ("ann", "bea"):
        guarded.keys[owner].save(tmp_path / f"{owner}.key")
    before = guarded.inner().digest(name, "1")
    ledger = ("--ledger", guarded.ledger_url)
    options = ("--coefficients", tmp_path / "coefficients.json", "--json", *ledger)
    done = coordpath("declare", name, "1", "--key", tmp_path / "ann.key", *options)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["by"] == "ann"
    assert guarded.inner().digest(name, "1") == document["digest"] == before
    assert json.loads(mlflow.artifacts.load_text(f"models:/{name}/1/{document['beside']}"))["intercept"] == 1.0
    assert coordpath("report", name, "--candidate", "1", *ledger).code == 0
    gate = coordpath("gate", name, "1", *ledger)
    assert gate.code == 3
    line = next(each for each in gate.out.splitlines() if "declared coefficients" in each)
    assert line.strip().startswith("NOT KNOWN")
    assert "one more person has to vouch for them, since nobody vouches for who registered it" in gate.plain
    assert coordpath("declare", name, "1", "--key", tmp_path / "bea.key", *options).code == 0
    gate = coordpath("gate", name, "1", *ledger)
    line = next(each for each in gate.out.splitlines() if "declared coefficients" in each)
    assert line.strip().startswith("met")
    assert "bea (entry" in gate.plain


def test_what_the_author_says_when_registering_is_in_the_report_that_the_server_makes(guarded):
    """Tags given with the version are there while the server makes its report; the call fetches it and makes none."""
    name = f"at once {uuid.uuid4().hex}"
    fresh = guarded.store.fresh()
    guarded.client.set_tag(fresh.run_id, "coordpath.planned", "yes")
    made = cg.register_with_report(fresh.uri, name, reason="newer rows", implementation_date="2026-12-31")
    assert made.why_no_report is None
    facts = made.report.document.facts
    assert (facts.reason, facts.planned, facts.implementation_date) == ("newer rows", "yes", "2026-12-31")
    assert facts.tagged == ("reason", "planned", "implementation_date")
    assert guarded.events(name) == ["registration", "report", "verdict"]
    assert guarded.store.tags(name, 1)["coordpath.report_sha256"] == made.report.sha256
    candidate = made.report.document.subject.candidate
    assert candidate.registered_ms == guarded.client.get_model_version(name, "1").creation_timestamp


def test_registering_where_the_server_cannot_make_the_report_says_who_can(guarded):
    name = f"no data {uuid.uuid4().hex}"
    with pytest.warns(UserWarning, match="the guarded registry made none"):
        made = cg.register_with_report(guarded.store.fresh().uri, name, data=guarded.store.rows.csv, target="price")
    assert (made.version, made.report) == ("1", None)
    assert "coordpath sweep" in made.why_no_report
    assert guarded.events(name) == ["registration"]


def test_with_its_ledger_at_hand_the_report_is_made_on_the_pinned_data(guarded, monkeypatch):
    monkeypatch.setenv("COORDPATH_LEDGER", guarded.ledger_url)
    name = f"no data {uuid.uuid4().hex}"
    made = cg.register_with_report(guarded.store.fresh().uri, name, data=guarded.store.rows.csv)
    assert made.report.document.assessment.verdict == "review"
    assert guarded.events(name) == ["registration", "report", "verdict"]


def test_a_report_whose_bytes_somebody_changed_is_not_taken_for_the_servers(guarded, monkeypatch):
    name = f"at once {uuid.uuid4().hex}"
    monkeypatch.setattr("coordpath_governance.governance.register.sha256_hex", lambda _: "0" * 64)
    with pytest.warns(UserWarning, match="the guarded registry made none"):
        made = cg.register_with_report(guarded.store.fresh().uri, name)
    assert made.report is None
