"""What happens around the page: the file changes, the database goes away and comes back, others write too."""

import os
import re
import subprocess
import sys
import threading

import pytest
from pages import serving

from shops import ask, fault, run
from windage.studies.file import load
from windage.studies.store import StudyStore
from windage.web.background import Helper, new_process
from windage.web.jobs import warm


def test_a_study_file_that_changed_is_read_again(regular):
    path = regular.site.live.path
    path.write_text(path.read_text().replace('unit = "EUR"', 'unit = "GBP"'))
    assert "GBP" in regular.open()


def test_a_study_file_that_is_wrong_or_gone_is_a_word_and_keeps_what_was_typed(regular):
    path = regular.site.live.path
    right = path.read_text()
    path.write_text(right.replace("high = 40", "high = "))
    html = regular.send("/tell", context_0="11", value="30")
    assert "is not right" in html
    assert regular.fields("/tell")["value"] == "30"
    assert regular.open()
    assert regular.answer.status_code == 503
    path.unlink()
    assert "There is no study file" in regular.open()
    assert "windage init" not in regular.html
    path.write_text(right)
    regular.open()
    assert "Saved" in regular.send("/tell", context_0="11", value="30")


def test_boxes_of_another_study_file_are_not_mixed_up(regular):
    path = regular.site.live.path
    path.write_text(path.read_text() + "\n[contexts.rain]\nlow = 0\n")
    html = regular.send("/tell", context_0="11", value="30")
    assert "The study file has changed since this page was opened" in html
    assert len(StudyStore.open(load(path)).entries()) == 7
    assert regular.fields("/tell")["value"] == "30"
    assert "context-1" in regular.fields("/tell")


def test_a_database_that_went_away_loses_nothing(regular):
    database = regular.site.live.path.with_suffix(".db")
    away = database.with_suffix(".away")
    database.rename(away)
    html = regular.send("/tell", context_0="11", value="30")
    assert "is not there: bring it back" in html
    assert (regular.fields("/tell")["context-0"], regular.fields("/tell")["value"]) == ("11", "30")
    assert not database.exists()  # no empty one in its place
    away.rename(database)
    assert "Saved: demand 11 kg, profit of the day 30 EUR." in regular.send("/tell")
    assert regular.site.live.store().entries()[-1].value == 30


def test_a_database_put_back_from_a_copy_is_the_one_that_is_written(regular):
    database = regular.site.live.path.with_suffix(".db")
    copy = database.read_bytes()
    database.unlink()
    database.write_bytes(copy)
    assert "Saved" in regular.send("/tell", context_0="11", value="30")
    assert StudyStore.open(load(regular.site.live.path)).entries()[-1].value == 30


def test_a_database_that_is_no_database_is_a_word(regular):
    database = regular.site.live.path.with_suffix(".db")
    copy = database.read_bytes()
    database.unlink()
    database.write_bytes(b"x" * 5000)
    assert "storage failed" in regular.send("/tell", context_0="11", value="30")
    assert regular.fields("/tell")["value"] == "30"
    database.unlink()
    database.write_bytes(copy)
    assert "Saved" in regular.send("/tell")


def test_two_servers_and_the_command_line_share_a_study(regular, come):
    with serving(regular.site.live.path) as second:
        other = come(second)
        other.until("What happened?")
        assert other.fields("/tell")["number"] == regular.fields("/tell")["number"] == "7"
        assert ask("shop.toml")["number"] == 7
        regular.send("/tell", context_0="11", value="30")
        assert "told already" in other.send("/tell", context_0="12", value="31")
        run("tell", "shop.toml", "--decision", "stock=9", "--context", "demand=9", "--value", "29")
        regular.until("(9)")
        other.until("(9)")


def test_a_port_in_use_is_one_line(server):
    words = fault("serve", "shop.toml", "--port", str(server.port))
    assert f"port {server.port} of 127.0.0.1 cannot be used" in words
    assert "--port 0" in words


@pytest.mark.parametrize("text", ["", "short\n", None])
def test_a_password_file_must_hold_a_password(shop, text):
    if text is not None:
        shop.with_name("secret").write_text(text)
    words = fault("serve", "shop.toml", "--password-file", "secret", "--port", "0")
    assert "password" in words


def test_a_wrong_study_file_is_said_before_a_page_is_there(shop):
    shop.write_text(shop.read_text().replace('method = "auto"', 'method = "oracle"'))
    assert "oracle" in fault("serve", "shop.toml", "--port", "0")
    assert "no folder" in fault("serve", "nowhere/shop.toml", "--port", "0")


@pytest.mark.parametrize("library", ["starlette", "jinja2", "uvicorn", "python_multipart"])
def test_without_its_libraries_the_command_says_what_to_install(shop, library):
    script = f"import sys; sys.modules[{library!r}] = None; sys.argv = ['windage', 'serve', 'shop.toml']"
    found = subprocess.run(
        [sys.executable, "-c", f"{script}; from windage.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 2
    assert "windage[web]" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_helper_process_that_died_is_replaced():
    helper = Helper(new_process)
    try:
        helper.do(warm)
        first = next(iter(helper._executor._processes))
        os.kill(first, 9)
        for _ in range(3):
            helper.do(warm)
        assert first not in helper._executor._processes
    finally:
        helper.close()


def test_people_who_save_different_decisions_at_once_are_all_taken(regular, come):
    store = regular.site.live.store()
    numbers = [store.ask().number for _ in range(4)]
    pages = [come(regular.server) for _ in numbers]
    for page, number in zip(pages, numbers, strict=True):
        page.open(f"/?decision={number}")
        assert page.fields("/tell")["number"] == str(number)
    assert len(re.findall(r"\(decision \d+\)", pages[0].html)) == 4
    work = [
        threading.Thread(target=page.send, args=("/tell",), kwargs={"context_0": "11", "value": f"{30 + i}"})
        for i, page in enumerate(pages)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert {e.number: e.value for e in store.entries()} | {n: 30.0 + i for i, n in enumerate(numbers)} == {
        e.number: e.value for e in store.entries()
    }
