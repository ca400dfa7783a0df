"""Describes the files of an archive as a Workflow Run RO-Crate, with the library `rocrate`."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from lensbench.archive import PROJECT, RUN, VERSIONS
from lensbench.core.run_folder import RunFolder

CRATE_VERSION = "1.1"
"""The version that the profile requires."""
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_TYPES = {".md": "text/markdown", ".yaml": "application/yaml", ".gz": "application/gzip", ".smk": "text/x-python"}
_RESULTS = (
    RunFolder.results_json, RunFolder.results, RunFolder.page, RunFolder.scores, RunFolder.pairs, RunFolder.estimates,
    RunFolder.instrument,
)  # fmt: skip
_INPUTS = (RunFolder.config, RunFolder.plan, RunFolder.tasks, RunFolder.tasks_beside, RunFolder.protocol)


class Told(NamedTuple):
    """The crate's description of the benchmark; times are ISO 8601."""

    run_id: str
    description: str
    began: str
    ended: str
    versions: Mapping[str, Any]


def write_crate(folder: Path, names: Iterable[str], told: Told) -> None:
    """Writes ro-crate-metadata.json with a description of the files `names` in `folder`."""
    crate = ROCrate(version=CRATE_VERSION)
    root = crate.root_dataset
    crate.name, crate.description = f"lensbench: {told.run_id}", told.description
    crate.datePublished = told.ended
    crate.license = _thing(
        crate, "#licence", "CreativeWork", name="No licence is stated",
        description="The workflow has the MIT licence. Who publishes the archive says under which one its data are.",
    )  # fmt: skip
    workflow = crate.add_workflow(
        folder / PROJECT / "Snakefile", f"{PROJECT}/Snakefile", main=True, lang="snakemake",
        lang_version=told.versions["snakemake"],
        properties={
            "name": "lensbench", "version": told.versions["lensbench"], "encodingFormat": "text/x-python",
            "description": f"commit {told.versions['commit']}, code {told.versions['code_sha256']}",
        },
    )  # fmt: skip
    files = {
        name: crate.add_file(folder / name, name, properties=_about(folder / name))
        for name in names
        if name != f"{PROJECT}/Snakefile"
    }
    run = _thing(
        crate, "#run", "CreateAction", name=f"the benchmark {told.run_id}", startTime=told.began, endTime=told.ended,
        instrument=workflow,
        object=[files[name] for name in _present(_INPUTS, files)] + [files[VERSIONS]],
        result=[files[name] for name in _present(_RESULTS, files)],
    )  # fmt: skip
    root["mentions"] = [run]
    root["conformsTo"] = [
        _thing(crate, address, "CreativeWork", name=name, version=version)
        for address, (name, version) in _PROFILES.items()
    ]
    crate.metadata.write(folder)


def _thing(crate: ROCrate, id_: str, type_: str, **properties: Any) -> Any:
    thing = crate.add(ContextEntity(crate, id_, properties={"@type": type_}))
    for name, value in properties.items():
        thing[name] = value
    return thing


def _present(names: Iterable[str], files: Mapping[str, Any]) -> list[str]:
    return [name for name in (f"{RUN}/{name}" for name in names) if name in files]


def _about(path: Path) -> dict[str, str]:
    format_ = _TYPES.get(path.suffix) or mimetypes.types_map.get(path.suffix) or "application/octet-stream"
    return {"encodingFormat": format_, "contentSize": str(path.stat().st_size)}
