"""One thread, hypothesis without its clock, and a cache of our own: the same cases on every machine."""

import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

import databases
import shops

try:
    import torch
except ImportError:  # only the oracles and the bridge need it
    pass
else:
    torch.set_num_threads(1)
settings.register_profile(
    "windage", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("windage")


def pytest_configure(config: pytest.Config) -> None:
    """Optima are computed once a test run and shared by its processes, never taken from the user's cache."""
    if not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="windage-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["WINDAGE_CACHE"] = folder.name


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The path of a fresh study file in an empty folder, where the test then is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WINDAGE_STORAGE", raising=False)
    path = tmp_path / "shop.toml"
    assert shops.run("init", "shop.toml").exit_code == 0
    path.write_text(path.read_text() + shops.QUICK)
    return path


@pytest.fixture(scope="session")
def server():
    """A real PostgreSQL; tests of the group ``postgresql`` share it."""
    with databases.postgresql() as found:
        yield found


@pytest.fixture
def postgresql_shop(server, shop, request):
    """The same study file, in a database of its own on PostgreSQL."""
    name = f"w{abs(hash(request.node.nodeid)) % 10**9}"
    server.psql(f"CREATE DATABASE {name};")
    url = server.get_uri(database=name, driver="psycopg")
    text = shop.read_text().replace('"sqlite:///shop.db"', f'"{url}"')
    assert url in text
    shop.write_text(text.replace("lease_days", "initial = 3\nlease_days"))
    return shop
