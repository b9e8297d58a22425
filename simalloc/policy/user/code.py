"""Code of policies in Python: loaded from a file or a class, and passed to other processes."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final

from simalloc.errors import PolicyError, SimallocError
from simalloc.files import read_text
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Value
from simalloc.policy.user.base import UserPolicy

NAMED: Final = {"thread": 2, "time": 4, "site": 8}
"""Fields of a request that `malloc` may name, with the core's numbers (COLUMN_ in family.h)."""

DIGITS: Final = 12
"""Number of digits of a source's SHA-256 in a policy's text."""


@dataclass(frozen=True)
class Code:
    """A class of policies, and its source.

    `file` is the path of the class's file as the policy's text names it. It is None for a class
    that was not defined in a file, as in a notebook; the source is then the class's own. `path` is
    the resolved path of the file, for messages.
    """

    name: str
    file: str | None
    source: str = field(repr=False)
    path: str = field(repr=False, compare=False)
    policy: type[UserPolicy] = field(compare=False)

    @property
    def digest(self) -> str:
        """First digits of the source's SHA-256."""
        return sha256(self.source.encode()).hexdigest()[:DIGITS]

    @property
    def portable(self) -> bool:
        """True if another process can make the class from the source."""
        return self.file is not None

    def make(self, values: Mapping[str, Value]) -> UserPolicy:
        """Return an object of the class; raises `PolicyError` if its constructor fails."""
        with self._errors("__init__"):
            return self.policy(**values)

    def begin(self, values: Mapping[str, Value], trace: object) -> UserPolicy:
        """Return an object of the class for one simulation of a trace; raises as `make` does."""
        policy = self.make(values)
        with self._errors("begin"):
            policy.begin(trace)
        return policy

    @contextmanager
    def _errors(self, method: str) -> Iterator[None]:
        try:
            yield
        except SimallocError:
            raise
        except Exception as error:
            raise PolicyError(f"{self.name}.{method}: {_complaint(error, self.path)}") from error

    def __reduce__(self) -> tuple[object, ...]:
        if self.file is None:
            raise PolicyError(
                f"{self.name} is not defined in a file, so other processes cannot load it; "
                "write the class to a file"
            )
        return code_of_source, (self.name, self.file, self.source, self.path)


@dataclass(frozen=True)
class UserCode(HeapFamily):
    """A policy whose decisions Python code makes: its class, and the parameters' values."""

    family: ClassVar[str] = "python"
    reference: ClassVar[str] = "user_policy:UserPolicyHeap"
    is_slow: ClassVar[bool] = True

    code: Code
    values: tuple[tuple[str, Value], ...]

    def decider(self, trace: object = None) -> UserPolicy:
        """Return a new object of the class, for one simulation of a trace."""
        return self.code.begin(dict(self.values), trace)

    @property
    def named_columns(self) -> tuple[str, ...]:
        """Columns that the policy's `malloc` names as keyword-only arguments."""
        parameters = inspect.signature(self.code.policy.malloc).parameters.values()
        return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Optional columns of a trace that the policy receives.

        Raises `PolicyError` if `malloc` names a column that no trace has.
        """
        wrong = [name for name in self.named_columns if name not in NAMED]
        if wrong:
            raise PolicyError(
                f"{self.code.name}.malloc has an unknown keyword-only parameter, {wrong[0]}; "
                f"choose among {', '.join(NAMED)}"
            )
        return (*self.named_columns, *super().read_columns)

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters for the core, without the object that makes the decisions."""
        columns = sum(NAMED.get(name, 0) for name in self.read_columns)
        given = super().core_parameters() | {"columns": columns}
        return {name: value for name, value in given.items() if name not in {"code", "values"}}


def code_in_file(file: str, name: str, folder: Path) -> Code:
    """Load a class from a file, whose path is relative to `folder`; the file is executed.

    Raises `PolicyError` if the file cannot be loaded or has no such class.
    """
    path = folder / Path(file).expanduser()
    try:
        source = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise PolicyError(f"policies cannot be read from {file}: {reason}") from None
    return code_of_source(name, file, source, str(path.resolve()))


def code_of_source(name: str, file: str, source: str, path: str) -> Code:
    """Make a class from the text of its file; raises as `code_in_file` does."""
    module = _execute(file, source, path)
    policy = getattr(module, name, None)
    if not (isinstance(policy, type) and issubclass(policy, UserPolicy)):
        known = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
            if issubclass(value, UserPolicy)
        ]
        has = f"it has {', '.join(known)}" if known else "no class there derives from UserPolicy"
        raise PolicyError(f"{file} has no policy {name!r}; {has}")
    return Code(name, file, source, path, checked(policy))


def code_of_class(policy: type[UserPolicy]) -> Code:
    """Return the code of an existing class.

    A class at the top level of an importable file is identified by that file. Any other class is
    identified by its own source. This includes a class of the running script, because executing the
    file would run the script again.
    """
    module = sys.modules.get(policy.__module__)
    path = getattr(module, "__file__", None)
    at_top = getattr(module, policy.__name__, None) is policy and policy.__module__ != "__main__"
    if path is not None and at_top and path.endswith(".py"):
        with suppress(OSError, UnicodeDecodeError):
            source = Path(path).read_text("utf-8")
            return Code(policy.__name__, _shortest(path), source, path, checked(policy))
    try:
        source = inspect.getsource(policy)
    except (OSError, TypeError):
        source = ""
    return Code(policy.__name__, None, source, "", checked(policy))


def checked(policy: type[UserPolicy]) -> type[UserPolicy]:
    """Return the class if it has the methods of a policy; otherwise raise `PolicyError`."""
    for method in ("malloc", "free"):
        if getattr(policy, method) is getattr(UserPolicy, method):
            raise PolicyError(f"{policy.__name__} has no {method}, which every policy needs")
    return policy


def _shortest(path: str) -> str:
    """Return a path relative to the current folder if it is inside the folder."""
    try:
        return Path(path).resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(path).as_posix()


@cache
def _execute(file: str, source: str, path: str) -> ModuleType:
    """Return the module made from a source; each process makes one module per source."""
    digest = sha256(f"{path}\n{source}".encode()).hexdigest()
    module = ModuleType(f"simalloc_policies_{digest}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses and other modules search for it here
    try:
        exec(compile(source, path, "exec"), vars(module))  # noqa: S102 - the user named this file
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise PolicyError(f"{file} cannot be loaded: {_complaint(error, path)}") from error
    return module


def _complaint(error: BaseException, path: str) -> str:
    """Return the error as text, with the line in the file."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{f'line {line}: ' if line else ''}{type(error).__name__}: {text}"
