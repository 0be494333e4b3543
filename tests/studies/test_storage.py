"""The storage of a study: where it is, and its faults in one line."""

import os
from pathlib import Path

import pytest

from shops import ask, fault, run
from windage.studies.storage import without_password


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:geheim@host:5/db",
        "postgresql+psycopg://me@corp:geheim@host:5/db",
        "postgresql+psycopg://host/db?user=me&password=geheim",
        "postgresql+psycopg://me:geheim%40@host:5/db",
        "postgresql+psycopg://me:geheim@host:port/db",
    ],
)
def test_no_password_is_shown_however_it_is_written(url):
    shown = without_password(f"connecting to {url} failed", url)
    assert "geheim" not in shown
    assert "***" in shown


def test_a_storage_that_cannot_be_reached_is_one_line_without_its_password(shop, monkeypatch):
    monkeypatch.setenv("WINDAGE_STORAGE", "postgresql+psycopg://me:s3cr%21t@127.0.0.1:1/none")
    message = fault("status", "shop.toml")
    assert "storage failed" in message
    assert "s3cr" not in message
    shown = "".join(map(str, run("status", "shop.toml").exc_info))
    assert "s3cr" not in shown
    assert without_password("pw s3cr!t, s3cr%21t", "postgresql://me:s3cr%21t@h/d") == "pw ***, ***"


def test_a_file_that_is_no_database(shop):
    Path("shop.db").write_text("hello")
    assert "storage failed" in fault("status", "shop.toml")


def test_the_environment_names_the_storage(shop, tmp_path, monkeypatch):
    monkeypatch.setenv("WINDAGE_STORAGE", f"sqlite:///{tmp_path / 'elsewhere.db'}")
    ask(shop)
    assert (tmp_path / "elsewhere.db").exists()
    assert not (tmp_path / "shop.db").exists()
    assert os.environ["WINDAGE_STORAGE"] not in shop.read_text()
