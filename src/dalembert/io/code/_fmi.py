"""Export as an FMU (FMI 3.0) for model exchange and co-simulation: compiled C code with its model description."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from dalembert.codegen.program_derivatives import jacobian_vector
from dalembert.errors import EngineError
from dalembert.io.code._c99 import c_files
from dalembert.io.code.code_source import CodeFunction, ExportedEquations, plain, read_template
from dalembert.io.files import atomic_write

_OUTPUTS = ("accelerations", "multipliers", "kinematics")  # outputs of an FMU in addition to its states
_POSE_COMPONENTS = ("x", "y", "z", *(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)))
_SYSTEMS = {"Linux": ("linux", ".so"), "Darwin": ("darwin", ".dylib"), "Windows": ("windows", ".dll")}
_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}


def write_fmu(source: ExportedEquations, path: Path) -> tuple[Path, ...]:
    """Write the FMU atomically."""
    files = fmu_files(source, plain(path.stem))
    folder, suffix = _SYSTEMS.get(platform.system(), _SYSTEMS["Linux"])
    machine = _MACHINES.get(platform.machine(), platform.machine())
    name = plain(path.stem)
    library = _compiled({file: content for file, content in files.items() if file.startswith("sources/")}, name, suffix)
    with atomic_write(path) as part, ZipFile(part, "w", ZIP_DEFLATED) as archive:
        for file, content in (*files.items(), (f"binaries/{machine}-{folder}/{name}{suffix}", library)):
            entry = ZipInfo(file)  # without a date, so that the same equations give the same file
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return (path,)


def fmu_files(source: ExportedEquations, name: str) -> dict[str, str]:
    """The text files of an FMU: its description and its sources."""
    source = _with_derivatives(source)
    code = c_files(source, Path(f"{name}.c"))
    token = hashlib.sha256("".join(code.values()).encode()).hexdigest()[:32]
    sources = code | {"fmi3.c": "\n".join([*_interface(source, name, token), "", read_template("fmi3.c")])}
    build = ElementTree.Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = ElementTree.SubElement(build, "BuildConfiguration", modelIdentifier=name)
    group = ElementTree.SubElement(configuration, "SourceFileSet", language="C99")
    for file in sources:
        if file.endswith(".c"):
            ElementTree.SubElement(group, "SourceFile", name=file)
    return {
        "modelDescription.xml": _xml(_description(source, name, token)),
        "sources/buildDescription.xml": _xml(build),
        **{f"sources/{file}": content for file, content in sources.items()},
    }


def _with_derivatives(source: ExportedEquations) -> ExportedEquations:
    """The functions of an FMU, and their derivatives along rates of time, states and parameters, in reference order."""
    functions = [each for each in source.functions if each.name in ("rhs", *_OUTPUTS)]
    by = ["t", *source.states, *source.values]
    slopes = [
        CodeFunction(
            f"{each.name}_along",
            f"{each.meaning}, the derivative along the rates of t, y and p in `seed`",
            jacobian_vector(each.program, by),
            each.shape,
            "along",
            each.rows,
        )
        for each in functions
    ]
    return replace(source, functions=(*functions, *slopes))


def _compiled(sources: dict[str, str], name: str, suffix: str) -> bytes:
    known = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    compiler = next((each for each in known if each and shutil.which(each)), None)
    if compiler is None:
        raise EngineError("fmu: no C compiler found. Install gcc or clang, or set the environment variable CC.")
    with tempfile.TemporaryDirectory() as folder:
        for file, content in sources.items():
            (Path(folder) / Path(file).name).write_text(content, encoding="utf-8")
        flags = ["-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
        command = [compiler, *flags, f"{name}.c", "fmi3.c", "-o", f"{name}{suffix}", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            output = " ".join(done.stderr.split())[:300]
            raise EngineError(f"fmu: the compiler '{compiler}' failed: {output}. Set CC to another compiler.")
        return (Path(folder) / f"{name}{suffix}").read_bytes()


def _interface(source: ExportedEquations, name: str, token: str) -> Iterator[str]:
    """The definitions of the model for the FMI functions."""
    functions = [each for each in (source.function(key) for key in _OUTPUTS) if each is not None]
    yield f'#include "{name}.h"'
    yield ""
    yield f'#define TOKEN "{token}"'
    yield f"#define N_STATES {len(source.states)}"
    yield f"#define N_PARAMETERS {len(source.values)}"
    yield f"#define N_OUTPUTS {sum(each.size for each in functions)}"
    yield f"#define DEFAULTS {name}_defaults"
    yield f"#define INITIAL {name}_initial"
    yield f"#define rates {name}_rhs"
    yield f"#define rates_along {name}_rhs_along"
    yield ""
    yield f"typedef {name}_parameters parameters;"
    for word, seed in (("", ""), ("_along", "seed, ")):
        more = f" const double *{seed}" if seed else " "
        yield ""
        yield f"static void outputs{word}(double t, const double *y, const parameters *p,{more}double *out)"
        yield "{"
        at = 0
        for each in functions:
            yield f"    {name}_{each.name}{word}(t, y, p, {seed}out + {at});"
            at += each.size
        yield "}"


# the description


def _outputs(source: ExportedEquations) -> Iterator[tuple[str, str]]:
    for name in source.coordinates:
        yield f"ddot({name})", f"acceleration of {name}"
    multipliers, poses = source.function("multipliers"), source.function("kinematics")
    for name in () if multipliers is None else multipliers.rows:
        yield f"lambda({name})", f"multiplier of {name}"
    for name in () if poses is None else poses.rows:
        for axis in _POSE_COMPONENTS:
            yield f"{name}.{axis}", f"{'position' if len(axis) == 1 else 'rotation'} of {name}"


def _description(source: ExportedEquations, name: str, token: str) -> ElementTree.Element:
    root = ElementTree.Element(
        "fmiModelDescription",
        fmiVersion="3.0",
        modelName=source.model,
        instantiationToken=token,
        description=" ".join(
            [f"Equations of motion of '{source.model}' by the formalism {source.formalism}.", *source.notes]
        ),
        generationTool=f"dalembert {source.version}",
        variableNamingConvention="flat",
    )
    words = ("canGetAndSetFMUState", "canSerializeFMUState", "providesDirectionalDerivatives")
    able = dict.fromkeys(words, "true")
    ElementTree.SubElement(root, "ModelExchange", {"modelIdentifier": name, **able})
    steps = {"canHandleVariableCommunicationStepSize": "true"}
    ElementTree.SubElement(root, "CoSimulation", {"modelIdentifier": name, **able, **steps})
    variables = ElementTree.SubElement(root, "ModelVariables")
    states, n, m = source.states, len(source.states), len(source.values)

    def variable(name: str, reference: int, **more: str) -> None:
        description = more.pop("description", "")
        known = {"description": description} if description else {}
        ElementTree.SubElement(variables, "Float64", {"name": name, "valueReference": str(reference), **known, **more})

    clock = "t" if "time" in (*states, *source.values) else "time"
    variable(clock, 0, causality="independent", variability="continuous")
    for i, (state, start) in enumerate(zip(states, source.initial, strict=True)):
        words = source.descriptions.get(state, "")
        kind = {"causality": "output", "variability": "continuous", "initial": "exact", "start": repr(start)}
        variable(state, 1 + i, description=words, **kind)
    for i, state in enumerate(states):
        kind = {"causality": "local", "variability": "continuous", "initial": "calculated"}
        variable(f"der({state})", 1 + n + i, derivative=str(1 + i), **kind)
    for i, (key, value) in enumerate(source.values.items()):
        kind = {"causality": "parameter", "variability": "tunable", "initial": "exact", "start": repr(value)}
        variable(key, 1 + 2 * n + i, description=source.descriptions.get(key, ""), **kind)
    outputs = list(_outputs(source))
    for i, (key, words) in enumerate(outputs):
        kind = {"causality": "output", "variability": "continuous", "initial": "calculated"}
        variable(key, 1 + 2 * n + m + i, description=words, **kind)
    _structure(root, n, m, len(outputs))
    return root


def _structure(root: ElementTree.Element, n: int, m: int, k: int) -> None:
    """Declare outputs, derivatives and initial unknowns."""
    structure = ElementTree.SubElement(root, "ModelStructure")
    derivatives, outputs = range(1 + n, 1 + 2 * n), range(1 + 2 * n + m, 1 + 2 * n + m + k)
    listed = {"Output": (*range(1, 1 + n), *outputs), "ContinuousStateDerivative": derivatives}
    for word, references in (listed | {"InitialUnknown": (*derivatives, *outputs)}).items():
        for reference in references:
            ElementTree.SubElement(structure, word, valueReference=str(reference))


def _xml(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
