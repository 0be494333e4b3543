"""Encrypted Dask clusters: which files are needed, and that they are used."""

import shutil
import subprocess

import pytest

from windage.bench.cluster import Tls, check_address, client_of
from windage.errors import ConfigurationError, WindageError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A certificate that vouches for itself, and its key."""
    if not shutil.which("openssl"):
        pytest.skip("the test makes its certificate with openssl")
    folder = tmp_path_factory.mktemp("tls")
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(made, check=True, capture_output=True)
    locked = ["openssl", "rsa", "-aes128", "-passout", "pass:abcd", "-in", str(folder / "key.pem")]
    subprocess.run([*locked, "-out", str(folder / "locked.pem")], check=True, capture_output=True)
    return folder


def test_an_encrypted_address_and_the_files_for_it_go_together(files):
    tls = Tls(files / "cert.pem", files / "cert.pem", files / "key.pem")
    check_address("tls://host:1", tls)
    check_address("tcp://host:1", None)
    with pytest.raises(ConfigurationError, match="give --tls-ca, --tls-cert and --tls-key"):
        check_address("tls://host:1", None)
    with pytest.raises(ConfigurationError, match="is not encrypted"):
        check_address("tcp://host:1", tls)


def test_all_files_are_given_or_none(files):
    assert Tls.of(None, None, None) is None
    assert Tls.of(files / "cert.pem", files / "cert.pem", files / "key.pem") is not None
    with pytest.raises(ConfigurationError, match="--tls-key is missing"):
        Tls.of(files / "cert.pem", files / "cert.pem", None)


def test_files_that_cannot_be_used_are_named(files):
    cert, key = files / "cert.pem", files / "key.pem"
    for given, words in (
        ((files / "none", cert, key), "--tls-ca .*none cannot be used: No such file"),
        ((key, cert, key), "--tls-ca .* cannot be used"),
        ((cert, files / "none", key), "--tls-cert .*none .* cannot be used: No such file"),
        ((cert, cert, files / "locked.pem"), "--tls-key .*locked.pem cannot be used"),
    ):
        with pytest.raises(ConfigurationError, match=words) as fault:
            Tls(*given)
        assert "\n" not in str(fault.value)


@pytest.mark.xdist_group("dask")  # one cluster at a time
def test_the_files_open_an_encrypted_cluster_and_others_do_not(files, monkeypatch, tmp_path):
    from distributed import LocalCluster, Security

    monkeypatch.chdir(tmp_path)
    cert, key = str(files / "cert.pem"), str(files / "key.pem")
    both = {f"tls_{role}_{kind}": path for role in ("scheduler", "worker", "client")
            for kind, path in (("cert", cert), ("key", key))}  # fmt: skip
    security = Security(require_encryption=True, tls_ca_file=cert, **both)
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": False,
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(protocol="tls://", security=security, silence_logs=50, **options) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        tls = Tls(files / "cert.pem", files / "cert.pem", files / "key.pem")
        with client_of("dask", address, tls) as client:
            assert client.submit(sum, [3, 4]).result(timeout=20) == 7
        monkeypatch.setattr("windage.bench.cluster.CONNECT_SECONDS", 1)
        with (
            pytest.raises(WindageError, match="no Dask scheduler answers"),
            client_of("dask", address.replace("tls", "tcp"), None),
        ):
            pass
