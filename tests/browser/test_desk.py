"""The desk in a browser: files dropped, rows that follow, keys, decisions, a phone, no script."""

from __future__ import annotations

import base64

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from config.database.postgres import wait_until
from sessions_app.models import Approval, Event, Role, SeenMark, Session
from sessions_app.services import audit, sessions
from sessions_app.services.people import api_keys, members
from sessions_app.services.reviews import saved_views
from tests.formats.stores import made
from tests.services.build import append, event
from tests.views.build import ASKER, TRANSCRIPT, asks, session_of
from vcon_app.models import Import
from vcon_app.services.imports import import_jobs

from .conftest import PHONE
from .test_inbox import by_ada

PAGES = ["/", "/sessions/", "/agents/", "/agents/refund-agent/", "/approvals/", "/imports/", "/settings/", "/audit/"]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
DROP = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


DROP_ALL = """(files) => {
  const transfer = new DataTransfer();
  for (const [name, content] of files)
    transfer.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(autouse=True)
def kept_apart(settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path


@pytest.fixture
def admin_member(workspace):
    return members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]


def drop_all(page, *files: tuple[str, bytes]) -> None:
    page.evaluate(DROP_ALL, [[name, base64.b64encode(content).decode()] for name, content in files])


def a_file(name: str, content: bytes = TRANSCRIPT) -> dict[str, object]:
    return {"name": name, "mimeType": "application/json", "buffer": content}


def drop(page, name: str, content: bytes = TRANSCRIPT) -> None:
    page.evaluate(DROP, [name, base64.b64encode(content).decode()])


def read_all() -> None:
    """What the worker does."""
    for imported in Import.objects.filter(status=Import.Status.QUEUED):
        import_jobs.run(imported.id)


def test_a_store_that_is_dropped_with_its_log_is_one_file_with_its_newest_rows(open_page):
    database, log, index = made.in_use(made.crush(4), made.SAY_LATER)
    page = open_page("/imports/")
    drop_all(page, ("crush.db", database), ("crush.db-shm", index), ("crush.db-wal", log))
    page.get_by_text("Waits for a worker.").wait_for()
    read_all()
    page.get_by_text("2 sessions, ").wait_for()
    assert [imported.filename for imported in Import.objects.all()] == ["crush.db"]
    assert Event.objects.filter(text="Said later").count() == 1


def test_a_dropped_file_gets_a_row_that_turns_from_queued_to_done_by_itself(open_page):
    page = open_page("/imports/")
    drop(page, "shelf.json")
    page.get_by_text("Waits for a worker.").wait_for()
    read_all()
    page.get_by_text("1 session, ").wait_for()
    page.get_by_role("link", name="shelf.json").click()
    page.get_by_text("detected automatically").wait_for()


def test_several_chosen_files_come_in_and_a_hostile_name_runs_nothing(open_page):
    page = open_page("/imports/")
    page.set_input_files("#files", [a_file("../../etc/passwd"), a_file("<img src=x onerror=alert(1)>.json", b"{")])
    page.get_by_role("link", name="passwd").wait_for()
    page.locator(".import").nth(1).wait_for()
    read_all()
    page.locator("main .is-wrong").get_by_text("Failed").first.wait_for()
    assert page.locator("main img").count() == 0


def test_files_that_were_chosen_before_the_script_arrived_are_sent_with_it(open_page):
    page = open_page("/settings/")
    held = []
    page.route("**/upload/queue*.js", lambda route: held.append(route))
    page.goto("/imports/")
    page.set_input_files("#files", [a_file("early.json")])
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    page.get_by_role("link", name="early.json").wait_for()


@pytest.mark.parametrize("path", ["/imports/", "/agents/"])
def test_a_file_over_the_limit_is_told_before_it_is_sent(open_page, settings, agent, path):
    session_of(agent)
    settings.MAX_UPLOAD_BYTES = 1_000
    page = open_page(path)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    drop(page, "huge.json", bytes(1_001))
    page.get_by_text("huge.json: the file has 1.0 kB, the limit is 1.0 kB").wait_for()
    assert sent == [] and not Import.objects.exists()


def test_a_refusal_of_the_server_stands_beside_the_file(open_page):
    page = open_page("/imports/")
    page.locator("select[name=format]").evaluate("(one) => one.options[0].value = 'papyrus'")
    drop(page, "shelf.json")
    page.get_by_text('shelf.json: "papyrus" is not a format').wait_for()


@pytest.mark.parametrize("path", ["/imports/", "/agents/"])
def test_files_of_somebody_who_was_signed_out_meanwhile_are_not_called_sent(open_page, agent, path):
    page = open_page(path)
    page.context.clear_cookies(name="sessionid")
    drop_all(page, ("one.json", TRANSCRIPT), ("two.json", TRANSCRIPT))
    expect(page.locator(".uploads .failed")).to_have_count(2)
    expect(page.locator(".uploads-line")).to_contain_text("0 of 2 sent · 2 failed")
    expect(page.locator(".uploads .failed").first).to_contain_text("one.json: you are signed out; nothing was stored")
    assert page.url.endswith(path) and not Import.objects.exists()


def test_the_empty_desk_takes_a_file_and_leads_to_its_row(open_page):
    page = open_page("/")
    drop(page, "shelf.json")
    page.wait_for_url("**/imports/")
    page.get_by_role("link", name="shelf.json").wait_for()


def test_without_a_script_a_form_imports(open_page):
    page = open_page("/imports/", java_script_enabled=False)
    page.set_input_files("#files", [a_file("one.json"), a_file("two.json", b"{}")])
    page.get_by_role("button", name="Import").click()
    assert page.locator(".import").count() == 2


def test_without_a_script_a_decision_is_made(open_page, agent):
    approval = asks(session_of(agent))
    page = open_page("/approvals/", java_script_enabled=False)
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_text("All caught up").wait_for()
    approval.refresh_from_db()
    assert (approval.status, approval.decision["by"]) == ("approved", "Rosa")


def test_keys_walk_the_inbox_and_after_a_decision_the_next_card_is_there(open_page, agent):
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/approvals/")
    for key, shown in (("j", second), ("k", first)):
        page.keyboard.press(key)
        page.locator(f"#line-{shown.id}[aria-current]:focus").wait_for()
        page.locator(f"#approval-{shown.id}.is-open").wait_for()
    page.keyboard.press("a")
    page.locator(f"#approval-{second.id}.is-open").wait_for()
    page.locator(f"#line-{second.id}:focus").wait_for()
    page.get_by_role("status").get_by_text("first_tool").wait_for()
    page.locator(".nav .badge", has_text="1").wait_for()
    first.refresh_from_db()
    assert first.status == "approved"
    page.keyboard.press("d")
    page.keyboard.type("Already refunded")
    page.get_by_role("button", name="Deny and tell the agent why").click()
    page.get_by_text("All caught up").wait_for()
    second.refresh_from_db()
    assert second.decision["reason"] == "Already refunded"


def test_beside_a_refused_card_no_other_decision_can_be_undone(open_page, agent, settings):
    """The line still offered to undo the one before: u took back what nobody was looking at."""
    settings.UNDO_SECONDS = 60
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/approvals/")
    page.locator(f"#approval-{first.pk}.is-open").wait_for()
    page.keyboard.press("a")
    just = page.locator("#inbox-just")
    expect(just.get_by_role("button", name="Undo")).to_be_visible()
    page.locator(f"#approval-{second.pk}.is-open").wait_for()
    by_ada(second)
    page.keyboard.press("a")
    expect(just).to_contain_text("not recorded:")
    expect(just.get_by_role("button", name="Undo")).to_have_count(0)
    page.keyboard.press("u")
    page.wait_for_timeout(300)
    first.refresh_from_db()
    assert first.takes_effect_at, "it still stands"


def test_on_home_a_key_decides_the_focused_card_and_the_next_one_follows(open_page, agent):
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/")
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.locator(f"#approval-{first.id}:not(.is-open)").wait_for()
    page.locator(f"#approval-{second.id}:focus").wait_for()


def test_a_key_leads_to_where_a_question_is_answered(open_page, agent):
    asks(session_of(agent), tool="escalate_to_human", arguments={"question": "Refund or replace?"})
    page = open_page("/approvals/")
    page.keyboard.press("r")
    page.keyboard.type("Replace it")
    page.get_by_role("button", name="Send the answer").click()
    page.get_by_text("All caught up").wait_for()
    assert Approval.objects.get().decision["answer"] == "Replace it"


def test_on_a_phone_the_inbox_is_a_list_and_then_a_card(open_page, agent):
    approval = asks(session_of(agent))
    page = open_page("/approvals/", viewport=PHONE)
    assert not page.locator(f"#approval-{approval.id}").is_visible()
    page.locator(f"#line-{approval.id}").click()
    page.locator(f"#approval-{approval.id}").get_by_role("button", name="Approve").wait_for()
    expect(page.locator(f"#line-{approval.id}")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("link", name="All 1 pending").click()
    page.locator(f"#line-{approval.id}").wait_for()


def test_on_a_phone_the_bar_shows_where_one_is(open_page, admin_member):
    page = open_page("/settings/", member=admin_member, viewport=PHONE)
    for path, name in (("/settings/", "Settings"), ("/", "Home")):
        page.goto(path)
        here = page.locator(".nav [aria-current]")
        expect(here).to_have_text(name)
        box = here.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]


def test_a_viewer_s_pages_complain_of_nothing(open_page, workspace):
    vito = members.add_member(workspace, "vito@example.org", "Vito", Role.VIEWER, by=audit.COMMAND)[0]
    page = open_page("/", member=vito)
    page.goto("/imports/")
    page.get_by_text("Nothing imported yet").wait_for()


def test_keys_walk_the_list_of_sessions_and_open_one(open_page, agent):
    for title in ("One", "Two"):
        session_of(agent, title)
    page = open_page("/sessions/?sort=title")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "Two"
    page.keyboard.press("k")
    page.keyboard.press("/")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/?*q=two*")
    page.get_by_text("1 session ").wait_for()
    page.keyboard.press("Escape")  # leaves the search
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/chat/{Session.objects.get(title='Two').id}")


def test_a_filter_changes_the_address_and_the_back_button_takes_it_off(open_page, agent):
    session_of(agent, "Fine")
    session_of(agent, "Broken", errors=1)
    page = open_page("/sessions/")
    page.get_by_role("link", name="With errors").click()
    page.wait_for_url("**/sessions/?has_errors=true")
    page.get_by_role("link", name="Fine").wait_for(state="detached")
    page.go_back()
    page.get_by_role("link", name="Fine").wait_for()


def test_more_sessions_follow_in_place(open_page, agent, monkeypatch):
    monkeypatch.setattr("sessions_app.views.session_list.ROWS", 2)
    for number in range(5):
        session_of(agent, f"Number {number}")
    page = open_page("/sessions/?sort=title")
    for rows in (4, 5):
        page.get_by_role("link", name="Show more").click()
        page.locator("a[data-row]").nth(rows - 1).wait_for()
    assert page.get_by_role("link", name="Show more").count() == 0
    assert page.url.endswith("?sort=title")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_runs_over_the_edge(open_page, agent, admin_member, scheme):
    asks(session_of(agent, f"{HOSTILE} {'very' * 40} long", errors=3), context="x" * 400)
    import_jobs.run(import_jobs.start_import(agent.workspace, f"{HOSTILE}{'y' * 200}", [b"{"], by=audit.COMMAND).id)
    page = open_page("/", member=admin_member, viewport=PHONE, color_scheme=scheme)
    for path in PAGES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


def test_every_page_is_reached_by_keyboard_with_a_visible_focus(open_page, agent, admin_member):
    session_of(agent)
    page = open_page("/", member=admin_member)
    for path in PAGES:
        page.goto(path)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip", path
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", path


def test_signing_in_by_link_choosing_a_password_and_signing_out(open_page, workspace):
    page = open_page(members.one_time_link_for_first_admin(), member=None)
    page.get_by_role("button", name="Sign in as admin").click()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_label("Password").fill("seven quiet herons")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_text("Saved. Next time").wait_for()
    page.locator(".account summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_label("Password").fill("seven quiet herons")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Nothing is here yet").wait_for()


def test_the_key_that_is_shown_once_can_be_copied(open_page, admin_member):
    page = open_page("/settings/", member=admin_member, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_placeholder("refund agent, production").fill("robot")
    page.get_by_role("button", name="Create key").click()
    page.locator("#secret").wait_for()
    page.wait_for_load_state()  # the script that copies comes after the button
    page.get_by_role("button", name="Copy").first.click()
    # Not for the word "Copied", which goes after 1.5 s: a browser that has to wait for its turn shows it too late.
    # Nor for any key: pages of one browser have one clipboard, and another test may have copied one before.
    secret = page.locator("#secret").inner_text()
    assert wait_until(lambda: page.evaluate("navigator.clipboard.readText()") == secret, 60)
    assert api_keys.find_api_key(secret).name == "robot"


def test_a_button_copies_where_the_desk_has_no_tls(open_page, admin_member):
    """There the browser has no clipboard for pages. The pages of these tests lie on this machine, which it trusts."""
    page = open_page("/settings/", member=admin_member)
    page.add_init_script("delete Navigator.prototype.clipboard")
    page.reload()
    page.get_by_placeholder("refund agent, production").fill("robot")
    held = []
    page.route("**/clipboard*.js", lambda route: held.append(route))  # what stands in for it comes after the click
    with page.expect_request("**/clipboard*.js"):
        page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Copy").first.click()
    held[0].continue_()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'pasted' }))")
    page.locator("#pasted").focus()
    page.keyboard.press("Control+V")
    expect(page.locator("#pasted")).to_have_value(page.locator("#secret").inner_text())


FOLDER = """async ([name, files]) => {
  const path = (file) => `/${name}/${file.name}`;
  const entry = (file) => ({ name: file.name, fullPath: path(file), file: (take) => take(file) });
  const some = files.map(([file, text]) => entry(new File([text], file)));
  const pieces = [some.slice(0, 1), some.slice(1), []];
  const reader = { readEntries: (take) => take(pieces.shift()) };
  const folder = { isDirectory: true, name, fullPath: `/${name}`, createReader: () => reader };
  const drop = new Event("drop", { cancelable: true });
  drop.dataTransfer = { types: ["Files"], files: [], items: [{ webkitGetAsEntry: () => folder }] };
  dispatchEvent(drop);
}"""
"""A folder as Chromium hands it over: in pieces. A page cannot make a real one."""


def test_a_dropped_folder_gives_its_files_on_any_page(open_page, agent):
    session_of(agent)
    page = open_page("/agents/")
    files = [["one.json", TRANSCRIPT.decode()], [".DS_Store", "x"], ["two.json", "{"]]
    page.evaluate(FOLDER, ["week", files])
    page.get_by_text("2 of 2 sent").wait_for()
    page.get_by_role("link", name="Imports").last.click()
    page.get_by_text("0 of 2 done").wait_for()
    assert set(Import.objects.values_list("folder", "filename")) == {("week", "one.json"), ("week", "two.json")}


def test_what_tells_of_a_drop_lies_over_the_page_until_it_is_closed(open_page, agent):
    session_of(agent)
    page = open_page("/agents/")
    drop_all(page, ("one.json", TRANSCRIPT), ("two.json", TRANSCRIPT))
    page.get_by_text("2 of 2 sent").wait_for()
    page.locator(".uploads-corner").get_by_role("button", name="Close").click()
    expect(page.locator(".uploads-corner")).to_have_count(0)
    drop_all(page, ("three.json", TRANSCRIPT))
    page.get_by_text("1 of 1 sent").wait_for()


def test_the_palette_finds_pages_actions_and_sessions(open_page, agent):
    session_of(agent, title="Order 4711 <b>refund</b>")
    page = open_page("/agents/")
    page.keyboard.press("Control+k")
    page.keyboard.type("usa")
    page.get_by_role("option", name="Usage page").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/usage/")
    page.keyboard.press("Control+k")
    page.keyboard.type("4711 ref")  # within a word
    page.get_by_role("option", name="Order 4711 <b>refund</b> session").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")
    page.keyboard.press("Control+k")
    page.keyboard.type("compare")
    page.get_by_role("option", name="Compare with another session").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/compare/*")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keyboard shortcuts").wait_for()


def test_the_palette_finds_agents_and_a_session_without_a_title(open_page, agent):
    untitled = sessions.create(agent, by=ASKER)
    append(untitled, event("agent_message", text="Seventeen"))
    page = open_page("/usage/")
    page.keyboard.press("Control+k")
    page.keyboard.type("seventeen")
    page.get_by_role("option", name=f"Session {str(untitled.pk)[-6:]} session").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type("fund ag")
    page.get_by_role("option", name="Refund agent agent").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/agents/refund-agent/")


def test_the_palette_does_not_offer_to_move_each_column(open_page, agent):
    session_of(agent)
    page = open_page("/sessions/")
    page.keyboard.press("Control+k")
    page.keyboard.type("move cost")
    found = page.get_by_role("dialog", name="Go to").get_by_role("option")
    expect(found).to_have_text(["Search transcripts for “move cost”page"])


def test_the_palette_opens_what_cannot_be_undone_and_does_not_do_it(open_page, agent, admin_member):
    session = session_of(agent)
    page = open_page(reverse("session-detail", args=[agent.pk, session.pk]), member=admin_member)
    page.keyboard.press("Control+k")
    page.keyboard.type("archi")
    page.get_by_role("option", name="Archive action").wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Archive", exact=True)).to_be_focused()
    session.refresh_from_db()
    assert session.status != Session.Status.ARCHIVED
    page.keyboard.press("Enter")
    assert wait_until(lambda: Session.objects.get(pk=session.pk).status == Session.Status.ARCHIVED, 30)


def test_the_palette_leads_to_what_a_form_asks_first(open_page, agent):
    session_of(agent)
    page = open_page("/sessions/")
    page.keyboard.press("Control+k")
    page.keyboard.type("save view")
    page.get_by_role("option", name="Save view action").wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Save this view as")).to_be_focused()


def test_the_palette_says_how_much_it_found_and_what_is_a_page(open_page, agent):
    session = session_of(agent, "Order 4711")
    asks(session)
    page = open_page("/agents/")
    page.keyboard.press("Control+k")
    found = page.get_by_role("dialog", name="Go to").get_by_role("status")
    page.get_by_role("option", name="Approvals 1 pending page").wait_for()
    page.keyboard.type("4711")
    expect(found).to_have_text("2 found")  # the session, and the search of transcripts
    page.keyboard.press("Control+a")
    page.keyboard.type("~")
    expect(found).to_have_text("0 found")
    page.goto(reverse("session-detail", args=[agent.pk, session.pk]))
    page.keyboard.press("Control+k")
    page.get_by_role("option", name="Settings page").wait_for()


def test_keys_of_one_character_can_be_turned_off_and_stay_off(open_page, agent):
    asks(session_of(agent))
    page = open_page("/approvals/")
    page.locator("details.account summary").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_role("checkbox", name="Single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_timeout(500)
    for key in ("j", "d", "a", "?"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.locator(".choice[open], dialog[open]").count() == 0
    assert Approval.objects.filter(status="pending").count() == 1
    page.keyboard.press("Control+k")
    page.keyboard.type("keyboard")
    page.get_by_role("option", name="Keyboard shortcuts").click()
    page.get_by_role("checkbox", name="Single-key shortcuts").check()
    page.wait_for_function("localStorage.getItem('single-keys') !== 'off'")  # by a script that is imported for it
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.locator("[data-choice=deny][open]").wait_for()


def test_the_palette_offers_formats_that_a_menu_fetches_when_it_is_opened(open_page, agent):
    session = session_of(agent, "Order 4711")
    page = open_page(reverse("session-detail", args=[agent.pk, session.pk]))
    page.keyboard.press("Control+k")
    page.keyboard.type("one event a line")
    page.get_by_role("option", name="jsonl JSON Lines").wait_for()


def test_a_session_is_asked_for_while_the_button_of_the_mouse_is_down_and_not_seen_by_that(open_page, agent):
    session = session_of(agent, "Order 4711")
    page = open_page("/sessions/")
    path = reverse("session-detail", args=[agent.pk, session.pk])
    row = page.locator(f"[data-row][href='{path}']")
    row.hover()
    came = "performance.getEntriesByType('resource').some((one) => /speculationrules/.test(one.name))"
    wait_until(lambda: page.evaluate(came), 30)
    page.mouse.down()
    page.wait_for_timeout(300)
    page.mouse.move(0, 0)
    page.mouse.up()
    assert page.url.endswith("/sessions/")
    assert not SeenMark.objects.exists()
    row.click(delay=200)
    page.wait_for_url(f"**{path}")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].deliveryType") == "navigational-prefetch"


def test_what_came_of_a_form_has_the_focus_so_that_a_screen_reader_reads_it(open_page, agent):
    """The page comes with it, and a live region that comes with a page is no change: nobody was told."""
    session_of(agent, title="Order 4711")
    page = open_page("/sessions/")
    page.locator("summary", has_text="Views").click()
    page.locator(".list-menu input[name=name]").fill("Orders")
    page.get_by_role("button", name="Save view").click()
    expect(page.locator(":focus")).to_have_text("The view Orders is saved.")

    def steps() -> bool:
        page.keyboard.press("j")
        return page.evaluate("document.activeElement.matches('[data-row]')")

    assert wait_until(steps, 30), "a key that comes before its script does nothing"


def test_what_came_of_a_form_is_in_sight_where_the_page_goes_on_at_a_part_of_it(open_page, admin_member):
    """The redirect named the part, which then stood at the top: above it, out of sight, stood what was said."""
    page = open_page("/settings/", member=admin_member)
    page.get_by_role("button", name="Let reviewers share by links").click()
    expect(page.locator(".notice", has_text="Sessions can be shared by links now.")).to_be_in_viewport()
    expect(page.locator(".notices")).to_be_focused()
    expect(page.locator("#share-links h2")).to_be_in_viewport()


def test_a_form_that_was_refused_opens_at_the_field_that_is_wrong(open_page, agent):
    """The page came anew, and the keyboard began at its top."""
    page = open_page("/reviews/")
    page.locator("summary", has_text="New queue").click()
    page.locator(".queue-form [name=name]").fill("Failed ones")
    page.locator(".queue-form [name=filter]").fill("mood=1")
    page.locator(".queue-form button").click()
    expect(page.locator(".queue-form .field-error")).to_be_visible()
    expect(page.locator(".queue-form [name=filter]")).to_be_focused()
    expect(page.locator(".queue-form [name=filter]")).to_be_in_viewport()


def test_a_saved_view_and_one_that_is_refused_are_told(open_page, agent):
    """The list swapped itself alone, and what was said of the form stood outside of it: nobody saw either."""
    session_of(agent, title="Order 4711")
    page = open_page("/sessions/?has_errors=false")
    for told in ("The view Quiet ones is saved.", "The view was not saved: "):
        page.locator("summary", has_text="Views").click()
        page.get_by_label("Save this view as").fill("Quiet ones" if "is saved" in told else " ")
        page.get_by_role("button", name="Save view").click()
        expect(page.locator(".notice")).to_contain_text(told)
    page.locator("summary", has_text="Columns").click()
    page.locator("[name=column][value=tags]").check()
    page.get_by_role("button", name="Show these").click()
    expect(page.locator("thead")).to_contain_text("Tags")
    assert "has_errors=false" in page.url


def test_menus_of_the_list_lie_on_a_phone_beside_saved_views_too(open_page, agent, reviewer_member):
    session_of(agent, title="Order 4711")
    saved_views.save(reviewer_member, "Long ago", "has_errors=true", shared=False, by=audit.SYSTEM)
    page = open_page("/sessions/", viewport=PHONE)
    for name in ("Views", "Columns"):
        page.locator(".list-menu summary", has_text=name).click()
        box = page.locator(".list-menu[open] .menu").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]


def test_many_sessions_are_archived_after_it_was_said_what_that_is(open_page, agent):
    session_of(agent, title="Order 4711")
    page = open_page("/sessions/", viewport=PHONE)
    page.locator("main input[type=checkbox][form=bulk]").check()
    expect(page.get_by_text("read-only for good")).to_be_hidden()
    page.locator(".bulk-archive summary").click()
    words = page.get_by_text("read-only for good")
    expect(words).to_be_in_viewport(ratio=1)
    page.locator("#bulk button[value=archive]").click()
    expect(page.locator(".notice")).to_contain_text("1 session archived.")
