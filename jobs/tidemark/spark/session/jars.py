"""Installs the jars that jobs need, so that nothing is downloaded when a job runs: Delta's and those for object
storage, resolved by Spark's own Ivy, and our own.

    python -m tidemark.spark.session.jars check              Java is here and Spark runs on it
    python -m tidemark.spark.session.jars install LOCK DIR   the jars of LOCK are in DIR, verified, and ours
    python -m tidemark.spark.session.jars fetch LOCK DIR     the jars of LOCK are in DIR, verified

Only the standard library is imported before Java has been checked: `check` runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemark.core.services import NAMES, SERVICES, Service
from tidemark.errors import TidemarkError, first_line
from tidemark.spark.session.compiler import (
    JAR,
    MODULE,
    TOOLS,
    compile_into,
    is_current,
    java_command,
    left_out,
    quiet_jvm,
)

JAVA_VERSIONS = (17, 21, 25)
"""Versions of Java that tidemark runs on (docs/versions.md)."""

_STORE_JARS: dict[Service, tuple[str, str]] = {
    "s3": ("690 MB", "hadoop-aws of its version"),
    "azure": ("1 MB", "hadoop-azure of its version, and HdrHistogram"),
    "gcs": ("40 MB", "Google's gcs-connector"),
}
"""By service: the size of its jars, and what a Spark of the user's own needs."""
_INSTALL_JAVA = "install Java 17 (Debian: apt-get install openjdk-17-jre-headless) or point JAVA_HOME to it"
_START_JAVA = "make `java -version` work: limits of memory (ulimit -v, a container's) and JAVA_TOOL_OPTIONS count"
_LONGEST = 300
"""Most characters of Java's answer that an error repeats."""


@dataclass(frozen=True)
class Jar:
    """One jar of the lock file: its Maven coordinate and the SHA-256 sum of its bytes."""

    coordinate: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The file's name, as Ivy writes it: group_artifact-version.jar, with the classifier if there is one."""
        group, artifact, *rest = self.coordinate.split(":")
        return f"{group}_{artifact}-{'-'.join(rest)}.jar"


def require_java(environ: Mapping[str, str] = os.environ) -> None:
    """Ensure that Java is installed in a version that Spark runs on. Raises TidemarkError that says what to
    install."""
    java = shutil.which(java_command(environ), path=environ.get("PATH", ""))
    if java is None:
        raise TidemarkError(
            "Spark needs Java, and none was found", where=environ.get("JAVA_HOME") or "PATH", hint=_INSTALL_JAVA
        )
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the user's own Java
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    if found is None:
        said = " ".join(f"{answer.stderr}\n{answer.stdout}".split())[:_LONGEST] or f"status {answer.returncode}"
        raise TidemarkError(f"Java does not start: {said}", where=java, hint=_START_JAVA)
    if int(found[1]) not in JAVA_VERSIONS:
        wanted = f"{', '.join(map(str, JAVA_VERSIONS[:-1]))} or {JAVA_VERSIONS[-1]}"
        raise TidemarkError(
            f"Spark needs Java {wanted}; this one is version {found[1]}", where=java, hint=_INSTALL_JAVA
        )


def jars_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder where `tidemark setup` puts Delta's jars and ours. The jars for object storage are in folders beside
    it."""
    return Path(environ.get("TIDEMARK_JARS") or Path(sys.prefix) / "share" / "tidemark" / "jars")


def installed_jars() -> list[Path]:
    """Delta's jars and ours, as `tidemark setup` left them: nothing is downloaded when a job runs. Raises
    TidemarkError if they are missing or older than the code."""
    folder = jars_folder()
    jars = sorted(folder.glob("*.jar"))
    if len(jars) < 2 or not is_current(folder / JAR):
        raise TidemarkError(
            "the jars of Delta and tidemark are not installed, or are older than the code",
            where=str(folder),
            hint="run `tidemark setup` (in a clone `make install` does)",
        )
    return jars


def store_jars(services: Iterable[Service] = SERVICES) -> list[Path]:
    """The jars for services that `tidemark setup --s3`, `--azure` and `--gcs` have installed."""
    return [jar for service in services for jar in sorted(_store_folder(service).glob("*.jar"))]


def require_stores(services: Iterable[Service]) -> None:
    """Ensure, before a JVM is started, that the jars for services are installed or that Spark brings its own; else
    raise TidemarkError."""
    for service in services:
        if not store_jars([service]) and "PYSPARK_GATEWAY_PORT" not in os.environ:
            raise missing_jars(service, "the jars that Spark needs for {} are not installed")


def missing_jars(service: Service, what: str) -> TidemarkError:
    """Error that `what` is missing for a service, whose name replaces {} in it, with the command that installs the
    service's jars."""
    size, own = _STORE_JARS[service]
    return TidemarkError(
        what.format(NAMES[service]),
        hint=f"run `tidemark setup --{service}` (about {size}); with a Spark of your own, give it {own}",
    )


def read_lock(lock: Path) -> list[Jar]:
    """The jars of a lock file: `group:artifact:version sha256:sum` a line, or with a
    classifier."""
    lines = (line.split("#")[0].split() for line in lock.read_text(encoding="utf-8").splitlines())
    return [Jar(parts[0], parts[1].removeprefix("sha256:")) for parts in lines if parts]


def set_up(services: Iterable[Service] = ()) -> Path:
    """Put Delta's jars, ours and the services' where jobs look for them. Returns the folder of the first two. Raises
    TidemarkError if a jar can't be downloaded or written, or is not the one of the lock file."""
    folder = jars_folder()
    try:
        install_all(_lock("jars.lock"), folder)
        for service in services:
            install(_lock(f"jars-{service}.lock"), _store_folder(service))
    except OSError as error:
        hint = "repeat the command as a user who may write there, or have TIDEMARK_JARS name another folder"
        raise TidemarkError(f"the jars can't be written: {error.strerror}", where=str(folder), hint=hint) from error
    return folder


def _store_folder(service: Service) -> Path:
    folder = jars_folder()
    return folder.with_name(f"{folder.name}-{service}")


def _lock(name: str) -> Path:
    """A lock file of jars: a wheel brings it beside this module, a clone has it in its top folder."""
    packed = Path(__file__).with_name(name)
    return packed if packed.is_file() else MODULE.parent / name


def install_all(lock: Path, folder: Path) -> None:
    """Put Delta's jars and ours into the folder, and say which classes of ours did not compile."""
    install(lock, folder)
    _note(left_out(install_ours(folder)))


def install(lock: Path, folder: Path) -> list[Path]:
    """Put exactly the jars of the lock into the folder; those already there with the right sum are left alone, and
    other versions are removed. Raises TidemarkError, and changes nothing, if there is any other file."""
    jars = read_lock(lock)
    folder.mkdir(parents=True, exist_ok=True)
    _ensure_ours(folder, jars)
    missing = [jar for jar in jars if not is_sound(folder / jar.file_name, jar)]
    if missing:
        require_java()
        for jar, found in zip(missing, _resolve(missing), strict=True):
            _move(jar, found, folder)
    names = {jar.file_name for jar in jars} | {JAR}
    for other in set(folder.iterdir()):
        if other.name not in names:
            other.unlink()
    return [folder / jar.file_name for jar in jars]


def install_ours(folder: Path) -> Path:
    """Put the jar of the project's Java module into the folder, which holds Delta's jars. Fetches the compiler if
    there are sources."""
    tools = folder.with_name("tools")
    if TOOLS.is_file():
        install(TOOLS, tools)
    return compile_into(folder, tools)


def is_sound(path: Path, jar: Jar) -> bool:
    """True if the file exists and its bytes have the sum of the lock file."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256


def _ensure_ours(folder: Path, jars: Sequence[Jar]) -> None:
    groups = tuple(f"{jar.coordinate.partition(':')[0]}_" for jar in jars)
    others = sorted(each.name for each in folder.iterdir() if not each.name.startswith((*groups, Path(JAR).stem)))
    if others:
        raise TidemarkError(
            f"a folder of jars has other files in it: {', '.join(others[:3])}",
            where=str(folder),
            hint="move them away, or have TIDEMARK_JARS name an empty folder",
        )


def _move(jar: Jar, found: Path, folder: Path) -> None:
    if not is_sound(found, jar):
        raise TidemarkError(
            f"{jar.coordinate} is not the jar of the lock file: its sha256 differs from {jar.sha256}",
            where=str(found),
            hint="delete that file and repeat the command; if it differs again, do not use it",
        )
    partial = folder / f"{jar.file_name}.partial"
    shutil.copyfile(found, partial)
    partial.replace(folder / jar.file_name)


def _resolve(jars: list[Jar]) -> list[Path]:
    """Resolve the jars without dependencies (Spark ships those), from the repositories of the user's Ivy settings."""
    from tidemark.spark.compat.sessions import resolve_jar  # imports pyspark, which may not be there yet

    with quiet_jvm() as (gateway, log):
        try:
            return [resolve_jar(gateway.jvm, jar.coordinate) for jar in jars]
        except Exception as error:
            log.seek(0)
            reasons = [line.strip(" :\t\n") for line in log if "download failed" in line or "not found" in line]
            reason = reasons[-1] if reasons else first_line(error)
            raise TidemarkError(
                f"jars can't be downloaded: {reason}",
                hint="check the network; DEFAULT_ARTIFACT_REPOSITORY (Spark's own variable) names a mirror",
            ) from error


def _note(missing: Sequence[str]) -> None:
    """Say which classes of the Java module did not compile, on standard error."""
    if missing:
        names = ", ".join(missing)
        sys.stderr.write(f"note: {names} did not compile here: public ways take their place (docs/compat.md)\n")


def main(arguments: list[str]) -> int:
    """Run the command of the module's docstring. Exit status: 0, 2 for wrong arguments, or 4 with one line on
    standard error."""
    try:
        match arguments:
            case ["check"]:
                require_java()
            case ["install", lock, folder]:
                install_all(Path(lock), Path(folder))
            case ["fetch", lock, folder]:
                install(Path(lock), Path(folder))
            case _:
                sys.stderr.write(f"{__doc__}\n")
                return 2
    except TidemarkError as error:
        where = f" ({error.where})" if error.where else ""
        sys.stderr.write(f"error: {error.message}{where}: {error.hint}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
