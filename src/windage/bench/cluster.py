"""A Dask cluster: how it is reached, and the runs on it."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windage.bench.configuration import Task
from windage.bench.run import Result, execute, record_failure
from windage.errors import ConfigurationError, WindageError, missing_extra

CONNECT_SECONDS = 10
"""For a scheduler to answer: one in the same network does in less, and a wrong address never does."""
ENCRYPTED = "tls://"


@dataclass(frozen=True)
class Tls:
    """The files of an encrypted connection: who is trusted, and who we are."""

    ca: Path
    cert: Path
    key: Path

    def __post_init__(self) -> None:
        """A ConfigurationError where a file cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            raise ConfigurationError(f"--tls-ca {self.ca} cannot be used: {_why(error)}") from None
        try:
            # without a password nobody is asked for one in the middle of a run
            context.load_cert_chain(self.cert, self.key, password=lambda: "")
        except OSError as error:
            raise ConfigurationError(
                f"--tls-cert {self.cert} and --tls-key {self.key} cannot be used: {_why(error)}"
            ) from None

    @classmethod
    def of(cls, ca: Path | None, cert: Path | None, key: Path | None) -> Tls | None:
        """None where no file is given. All three belong together."""
        given = {"--tls-ca": ca, "--tls-cert": cert, "--tls-key": key}
        missing = [option for option, path in given.items() if path is None]
        if len(missing) == len(given):
            return None
        if missing:
            words = "--tls-ca, --tls-cert and --tls-key go together."
            raise ConfigurationError(f"{missing[0]} is missing: {words}")
        return cls(*(path for path in given.values() if path is not None))

    def security(self) -> Any:
        """The same for Dask; what is not encrypted is refused."""
        from distributed import Security

        return Security(
            require_encryption=True,
            tls_ca_file=str(self.ca),
            tls_client_cert=str(self.cert),
            tls_client_key=str(self.key),
        )


def _why(error: OSError) -> str:
    return str(getattr(error, "reason", None) or error.strerror or error)


def check_address(scheduler: str, tls: Tls | None) -> None:
    """A ConfigurationError where an encrypted address has no files, or files have no encrypted address."""
    if scheduler.startswith(ENCRYPTED) and tls is None:
        raise ConfigurationError(
            f"--scheduler {scheduler} is encrypted: give --tls-ca, --tls-cert and --tls-key."
        )
    if tls is not None and not scheduler.startswith(ENCRYPTED):
        raise ConfigurationError(
            f"--scheduler {scheduler} is not encrypted, but --tls-ca is given: write {ENCRYPTED}HOST:PORT."
        )


@contextmanager
def client_of(backend: str, scheduler: str | None, tls: Tls | None) -> Iterator[Any]:
    """A client of the cluster, or None where the work is done here."""
    if backend != "dask":
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_extra("dask", "dask", "a cluster") from error
    if scheduler is None:
        raise ConfigurationError("--backend dask needs --scheduler ADDRESS, such as tcp://10.0.0.1:8786.")
    check_address(scheduler, tls)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # their faults are told in one line of ours
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, security=tls.security() if tls else None)
    except (OSError, ValueError, TypeError) as error:
        raise WindageError(
            f"no Dask scheduler answers at {scheduler} ({type(error).__name__}). Start one with "
            "`dask scheduler`, workers with `dask worker ADDRESS --nthreads 1`, and give its address."
        ) from None
    try:
        if not client.scheduler_info()["workers"]:
            raise WindageError(
                f"the Dask scheduler at {scheduler} has no workers: start `dask worker` first."
            )
        yield client
    finally:
        client.close(timeout=1)


def on_cluster(tasks: Sequence[Task], client: Any) -> Iterator[Result]:
    """Results as they come from a Dask cluster. A run whose workers die, one after the other, is recorded."""
    import distributed

    sent = {client.submit(execute, task, pure=False): task for task in tasks}
    lost = (CancelledError, distributed.comm.core.CommClosedError)
    try:
        for future in distributed.as_completed(sent):
            try:
                yield future.result()
            except distributed.scheduler.KilledWorker:
                yield record_failure(sent[future], "its workers were killed, one after the other")
    except lost as error:
        raise WindageError(
            "the Dask cluster went away. Finished runs are safe; the same command goes on when it is back."
        ) from error
