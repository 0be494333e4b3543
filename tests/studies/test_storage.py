"""The storage of a study: where it is, and its faults in one line."""

import os
from pathlib import Path

import pytest

from shops import ask, fault, run
from windage.studies.file import load
from windage.studies.store import StudyStore
from windage.studies.url import study_url, without_password


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:geheim@host:5/db",
        "postgresql+psycopg://me@corp:geheim@host:5/db",
        "postgresql+psycopg://host/db?user=me&password=geheim",
        "postgresql+psycopg://me:geheim%40@host:5/db",
        "postgresql+psycopg://me:geheim@host:port/db",
        "postgresql+psycopg://me:geheim/db",
        "postgresql+psycopg://me@host/db?sslpassword=geheim",
        "postgresql+psycopg://me@host/db?sslmode=require&token=geheim%21&token=more",
        "postgresql+psycopg://me@host:port/db?token=geheim",
        "postgresql+psycopg://me@host/db?geheim",
        "postgresql+psycopg://me@host/db?options=-c%20x%3Dgeheim",
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


def test_values_of_harmless_options_are_shown_and_short_ones_leave_words_whole():
    url = "postgresql+psycopg://u@h/db?sslmode=require&connect_timeout=10&sslpassword=x"
    shown = without_password(f"x is no box, next: {url}", url)
    assert shown.startswith("*** is no box, next: ")
    assert shown.endswith("u@h/db?sslmode=require&connect_timeout=10&sslpassword=***")


def test_a_secret_in_an_option_is_not_in_the_fault(shop, monkeypatch):
    monkeypatch.setenv("WINDAGE_STORAGE", "postgresql+psycopg://me@127.0.0.1:1/none?sslpassword=geheim")
    assert "geheim" not in fault("status", "shop.toml")


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite+pysqlite://",
        "SQLite:///:memory:",
        "sqlite:///:memory:",
        "sqlite:///:memory:?cache=shared",
        "sqlite:///%3Amemory%3A",
        "sqlite+pysqlite:///:memory:",
        "sqlite:///?timeout=3",
        "sqlite:///file::memory:?uri=true",
        "sqlite+pysqlite:///file::memory:?uri=true",
        "sqlite:///file:shop?mode=memory&cache=shared&uri=true",
        "sqlite:////tmp/shop.db?mode=memory&uri=true",
        "sqlite:///file:/shop.db?vfs=memdb&uri=true",
    ],
)
@pytest.mark.parametrize("by", ["file", "environment"])
def test_a_study_is_not_kept_in_memory(shop, monkeypatch, url, by):
    if by == "environment":
        monkeypatch.setenv("WINDAGE_STORAGE", url)
    else:
        shop.write_text(shop.read_text().replace("sqlite:///shop.db", url))
    assert 'names no file: write "sqlite:///shop.db"' in fault("status", "shop.toml")
    assert [path.name for path in Path().iterdir()] == ["shop.toml"]


@pytest.mark.parametrize(
    ("url", "beside"),
    [("sqlite:///shop.db", "shop.db"), ("sqlite+pysqlite:///data/shop.db?timeout=9", "data/shop.db")],
)
def test_a_relative_database_lies_beside_its_file_in_a_folder_of_any_name(tmp_path, monkeypatch, url, beside):
    from sqlalchemy.engine import make_url

    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)
    folder = tmp_path / "50% & more"
    folder.mkdir()
    parts = make_url(study_url(folder / "shop.toml", url))
    assert parts.database == str(folder / beside)
    assert dict(parts.query) == dict(make_url(url).query)


def modes(folder):
    """Of the files that a study keeps beside its file."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.suffix != ".toml"}


@pytest.fixture
def open_umask():
    """Files are for everybody, unless somebody says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_the_files_of_a_new_study_are_for_their_owner_alone(shop, tmp_path, open_umask):
    from sqlalchemy import text

    store = StudyStore.open(load(shop))
    seen = {}
    asks = store.study.ask
    store.study.ask = lambda: seen.update(modes(tmp_path)) or asks()
    store.tell(store.ask().number, {"demand": 1}, 2)
    assert {"shop.db", "shop.db.asking", "shop.db.asking.holder"} <= seen.keys()
    with store.storage.engine.connect() as connection:
        connection.execute(text("PRAGMA journal_mode=WAL"))
        connection.execute(text("CREATE TABLE more (x)"))
        seen.update(modes(tmp_path))
    assert {"shop.db-wal", "shop.db-shm"} <= seen.keys()
    assert set(seen.values()) == {0o600}, seen


def test_a_database_that_is_there_keeps_its_mode_and_its_locks_follow_it(shop, tmp_path, open_umask):
    (tmp_path / "shop.db").touch(0o660)
    ask(shop)
    found = modes(tmp_path)
    assert found["shop.db"] == 0o660
    assert set(found.values()) == {0o660}, found
