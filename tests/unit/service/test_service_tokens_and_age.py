"""The store: whose token it is, and what is forgotten at an age."""

from __future__ import annotations

from datetime import timedelta

from service_fakes import NOON, ip, make_ready, refusal, request


def _tenant_of(store, text):
    token = store.token_of(text)
    return token and token.tenant


def test_a_token_is_its_tenants_until_it_is_revoked(store):
    (first, first_text), (second, second_text) = (store.add_token("ann", NOON) for _ in range(2))
    _, bobs = store.add_token("bob", NOON)
    assert len({first_text, second_text, bobs}) == 3
    assert [_tenant_of(store, each) for each in (first_text, bobs)] == ["ann", "bob"]
    assert set(store.tokens("ann")) == {first, second}
    store.revoke_token(first.id, NOON)
    assert _tenant_of(store, first_text) is None
    assert _tenant_of(store, second_text) == "ann"
    assert store.revoke_tokens("ann", NOON) == 1
    assert [each.tenant for each in store.tokens()] == ["bob"]
    assert refusal(store.revoke_token, first.id, NOON).code == "unknown"
    assert refusal(store.add_token, "eve", NOON).code == "unknown"


def test_only_the_whole_secret_is_a_token(store):
    token, text = store.add_token("ann", NOON)
    secret = text.removeprefix(f"wt_{token.id}_")
    changed = secret[:-2] + ("AA" if secret[-2:] != "AA" else "BB")
    wrong = (
        "",
        secret,
        f"wt_{token.id}_",
        f"wt_{token.id}_{changed}",
        f"wt_{'0' * 12}_{secret}",
        text + "A",
    )
    assert [_tenant_of(store, each) for each in wrong] == [None] * len(wrong)
    assert _tenant_of(store, text) == "ann"


def test_the_secret_of_a_token_is_in_no_file_and_no_answer(tmp_path, store):
    token, text = store.add_token("ann", NOON)
    secret = text.removeprefix(f"wt_{token.id}_")
    told = [*store.audit(limit=1000), *store.events(limit=1000), *store.tokens()]
    assert not any(secret in str(each) for each in told)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "service").iterdir())
    assert token.id.encode() in kept
    assert secret.encode() not in kept


def test_spaces_that_are_long_gone_are_forgotten_with_all_that_is_told_of_them(store):
    later = NOON + timedelta(days=1)
    spaces = [
        store.create_space("ann", request(name, access=[ip("10.0.0.1")]), NOON, "tenant:ann")[0].id
        for name in ("old", "new", "kept")
    ]
    for space in spaces:
        make_ready(store, space, NOON)
    for space, moment in zip(spaces, (NOON, later), strict=False):
        store.delete_space(space, moment, "tenant:ann")
        store.did(store.intend(store.space(space), "remove", "", moment), moment)
        make_ready(store, space, moment)
    assert store.forget(NOON) == 0
    assert store.forget(later) == 1
    assert refusal(store.space, spaces[0]).code == "unknown"
    assert store.events(space=spaces[0]) == ()
    assert [store.space(space).state for space in spaces[1:]] == ["gone", "ready"]
    assert all(store.events(space=space) for space in spaces[1:])
    with store._connections.reading() as connection:
        for table in ("access", "intent"):
            rows = connection.execute(f"SELECT DISTINCT space FROM {table}").fetchall()
            assert spaces[0] not in {row[0] for row in rows}


def test_audit_rows_are_kept_until_a_file_has_them(store):
    later = NOON + timedelta(days=1)
    rows = store.audit(limit=1000)
    store.forget(later)
    assert store.audit(limit=1000) == rows
    store.set_audit_written(rows[1].number)
    store.forget(NOON)
    assert store.audit(limit=1000) == rows
    store.forget(later)
    assert store.audit(limit=1000) == rows[2:]
