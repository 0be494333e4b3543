"""The bakery's page without a browser."""

import pytest
from pages import Visitor, serving

from windage.studies.file import load
from windage.studies.store import StudyStore

HISTORY = ((5, 9, 20), (10, 12, 40), (20, 14, 26), (12, 10, 30), (30, 11, -51), (15, 16, 60), (8, 13, 32))


@pytest.fixture
def told(shop):
    """The study of a shop with some days."""
    store = StudyStore.open(load(shop))
    for stock, demand, profit in HISTORY:
        store.add({"stock": stock}, {"demand": demand}, profit)
    return store


@pytest.fixture
def server(shop):
    with serving(shop) as found:
        yield found


@pytest.fixture
def come():
    """Somebody who opens the page of a server."""
    visitors = []

    def open_page(server):
        visitors.append(Visitor(server))
        visitors[-1].enter()
        return visitors[-1]

    yield open_page
    for visitor in visitors:
        visitor.client.close()


@pytest.fixture
def visitor(server, come):
    """Somebody with a fresh study open, and its first decision there."""
    found = come(server)
    found.until("What happened?")
    return found


@pytest.fixture
def regular(told, server, come):
    """Somebody with the study open that has some days."""
    found = come(server)
    found.until("What happened?")
    return found
