"""The language of docs, help, messages and comments: a sentence names its subject.

The docs, the help of each command, the messages of errors, and all docstrings and comments are
searched for sentences that start with a clause instead of a noun (such as "Whether it is mapped")
and for phrases that have a plain equivalent.
"""

import ast
import io
import re
import tokenize
from importlib import import_module
from inspect import cleandoc
from itertools import groupby
from pathlib import Path

import pytest

from simalloc.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
COMMENTED = ("simalloc", "experiments", "tests", "benchmarks")

HEADLESS = re.compile(
    r"(?:And |So |But )?(?:What(?! to\b)|Whether\b|How(?! to\b)\b|(?:When|Where|Why)\b[^,]*$"
    r"|Who(?:ever|se)?\b|Which\b|Of (?:these|those|them|which)\b"
    r"|Nor\b|Those of\b|That of\b|There (?:is|are) no\w*\b|The same[,.:;])"
)
PLAIN = {
    r"of (?:which|whom)": "start a new sentence",
    r"foretells?|foretold": "predict",
    r"(?:is|are|was|were|be|cannot be) told": "detected, reported, known",
    r"looks? at|looked at": "examine, search, visit",
    r"comes? to|came to": "total, is",
    r"given back|gives? back": "freed, purged, unmapped, returned to the system",
    r"(?:is|are) (?:meant|asked|said)|asked for": "requested, named, stated",
    r"so many|this many|as many as": "the number itself",
    r"unless (?:something|anything) else": "by default",
    r"left to chance": "run-to-run variation",
    r"for want of|save for|save where|but for": "without, except",
    r"knows? the future": "offline, clairvoyant",
    r"in all(?=[.,;:)]|$)": "total",
    r"once more": "again",
    r"of one's own": "your own, separate",
    r"(?:is|are) none(?-i:(?<!None))": "name the missing thing",
    r"(?:is|are) no (?!longer|more|less|larger|smaller|later|different)\w+": "is not a ...",
    r"nothing of": "name the thing",
}
IN_COMMENTS = PLAIN | {
    r"(?:those|that) of": "repeat the noun",
    r"told": "reported, detected, known",
    r"what (?:is|are|was|were|it|they|there)": "name the thing",
    r"and so (?:is|are|was|were|do|does|did|has|have)": "repeat the verb",
    r"anew": "again",
    r"asks?|asked": "request, call",
    r"lies?|lay": "is at, is stored in",
    r"says?|said": "report, state, print",
    r"an? (?:\w+ )?\w+ of (?:its|their) own": "its own ..., a separate ...",
}


def phrases(plain):
    """Return the pattern of some phrases: phrase number n is the group `pn`."""
    groups = (rf"(?P<p{at}>\b(?:{one})\b)" for at, one in enumerate(plain))
    return re.compile("|".join(groups), re.IGNORECASE)


PHRASE, PHRASE_IN_COMMENTS = phrases(PLAIN), phrases(IN_COMMENTS)

EXCEPTIONS = {
    "docs/policies.md": ["is no such"],
    "docs/settings.md": ["is no model", "is no verdict"],  # after an if
}
"""Phrases that are right where a page has them."""


def sentences(text):
    """Yield the sentences and table cells of Markdown, without code, headings and questions."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^#.*$|<[^>]+>", "", text, flags=re.MULTILINE)
    text = re.sub(r"`+[^`]*`+", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:\||[-*] |\d+\. ))", text):
        line = re.sub(r"^(?:(?:[-*]|\d+\.) )?(?:\*\*[^*]+\*\*:?)?", "", " ".join(block.split()))
        cells = line.strip("|").split("|") if line.startswith("|") else [line]
        for cell in cells:
            for one in re.split(r"(?<=[.?!])\s+", cell.strip()):
                bare = one.strip('*_()"')
                if len(bare.split()) > 3 and not bare.endswith("?"):
                    yield bare


def faults(text, allowed=(), phrase=PHRASE):
    """Return the faults of a text: each sentence with the reason."""
    found = []
    for one in sentences(text):
        if HEADLESS.match(one):
            found.append(f"starts without a noun: {one}")
        for match in phrase.finditer(one):
            if match[0].lower() not in allowed:
                instead = list(IN_COMMENTS.values())[int(match.lastgroup[1:])]
                found.append(f"{match[0]!r} (write: {instead}): {one}")
    return found


def pages():
    """Return the faults of the docs, the policies' pages and the READMEs by file."""
    folders = ("docs", "simalloc", "tests", "traces")
    inner = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.md")))
    paths = [*sorted(ROOT.glob("*.md")), *inner]
    named = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    return {name: faults(text, EXCEPTIONS.get(name, ())) for name, text in named.items()}


def helps():
    """Return the faults of each command's help: its description and its options."""
    commands = {name: import_module(one.module).command for name, one in COMMANDS.items()}
    found = {}
    for name, command in {"simalloc": main, **commands}.items():
        texts = [command.help, *(getattr(one, "help", None) for one in command.params)]
        found[name] = [fault for text in texts if text for fault in faults(text)]
    return found


def messages():
    """Return the faults of the texts in `raise` statements by file."""
    found = {}
    for path in sorted((ROOT / "simalloc").rglob("*.py")):
        raised = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if raises(node)]
        texts = [text for node in raised for text in texts_in(node.exc)]
        found[path.relative_to(ROOT).as_posix()] = [one for text in texts for one in faults(text)]
    return found


def comments():
    """Return the faults of docstrings and comments by file."""
    found = {}
    for path in (path for folder in COMMENTED for path in sorted((ROOT / folder).rglob("*"))):
        if texts := COMMENTS.get(path.suffix):
            each = (faults(text, (), PHRASE_IN_COMMENTS) for text in texts(path.read_text("utf-8")))
            found[path.relative_to(ROOT).as_posix()] = [fault for some in each for fault in some]
    return found


def python_comments(source):
    """Yield the docstrings of Python code, including attributes, and its comments."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield cleandoc(text)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    kinds = tokenize.NL, tokenize.INDENT, tokenize.DEDENT
    shown = (token for token in tokens if token.type not in kinds)
    for is_comment, run in groupby(shown, lambda token: token.type == tokenize.COMMENT):
        if is_comment:
            yield "\n".join(token.string.lstrip("# ") for token in run)


def block_comments(source):
    """Yield the comments of C code without the stars of their lines."""
    for match in re.finditer(r"/\*(.*?)\*/", source, re.DOTALL):
        yield re.sub(r"\n *\* ?", "\n", match[1])


COMMENTS = {".py": python_comments, ".c": block_comments, ".h": block_comments}


def raises(node):
    """Return whether a node raises a new error."""
    return isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)


def texts_in(node):
    """Yield the string constants below a node, f-strings with X for their values."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        yield "".join(parts)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child)


KINDS = {"pages": pages, "helps": helps, "messages": messages, "comments": comments}


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_name_their_subject(kind):
    found = KINDS[kind]()
    assert found
    assert not [f"{name}: {fault}" for name, some in found.items() for fault in some]


@pytest.mark.parametrize(
    "text",
    [
        "What is resident of the heap then is printed.",
        "- Whether the heap was ever refused a request",
        "Where the next search begins in the list.",
        "| Pages of which a part was purged | 12 |",
        "The heap is larger. Of these blocks none is free.",
        "The policy 'list' is no policy.",
        "The same, for blocks in the cache.",
    ],
)
def test_a_fault_is_found(text):
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "# What is resident",
        "- **What is resident**: the pages that the program wrote.",
        "Which malloc needs the least memory?",
        "The heap is no larger than `what is` live.",
        "What to do next is printed.",
        "Where blocks are cut, the rest is free.",
        "```\nWhat is resident of the heap then is printed.\n```",
    ],
)
def test_questions_headings_and_code_are_not_faults(text):
    assert not faults(text)


def test_comments_are_found_in_python_and_c():
    python = (
        'def f():\n    """Return it."""\n\n\nX = 1  # one\n"""What it is."""\n# Two\n# lines.\n'
    )
    assert sorted(python_comments(python)) == ["Return it.", "Two\nlines.", "What it is.", "one"]
    assert list(block_comments("/* One\n * comment. */ int i;")) == [" One\ncomment. "]


def test_the_text_of_a_message_is_found_in_its_parts():
    (node,) = ast.parse("raise E(f'{a} is no '\n 'core file of the kernel', key=b) from None").body
    assert list(texts_in(node.exc)) == ["X is no core file of the kernel"]
