"""The files of the source tree, and their comments. Imported by check-claims and check-prose."""

import os
import re

TOPS = ("src", "tests", "docs", "bench", "include", "scripts", "web", "cmake")
SKIPPED = ("web/node_modules",)
DATA = ("tests/golden/cases/", "tests/fuzz/seeds/", "web/dist/")
CODE = (".c", ".h", ".cc", ".inc")
PROSE = (".md", ".scd")


def list_files(root):
    """The files below ROOT that people write, by their paths from there, sorted."""
    found = [n for n in os.listdir(root) if os.path.isfile(os.path.join(root, n))]
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            inside = os.path.relpath(folder, root)
            folders[:] = [f for f in folders if f"{inside}/{f}" not in SKIPPED]
            found += [f"{inside}/{name}" for name in names]
    return sorted(found)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def blank(text):
    """TEXT with all but its line ends made into spaces."""
    return re.sub(r"[^\n]", " ", text)


def split(path, text):
    """The code and the comments of TEXT, each with the lines where they were."""
    if path.endswith(CODE + (".mjs", ".js", ".ts", ".css")):
        pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    elif path.endswith(PROSE):
        # A fenced block shows what is typed or printed.
        prose = re.sub(r"^(```|~~~).*?^\1", lambda m: blank(m.group()), text, flags=re.S | re.M)
        return "", re.sub(r"^(?:    |\t).*$", lambda m: blank(m.group()), prose, flags=re.M)
    elif text.startswith("#!") or path.endswith((".cmake", "CMakeLists.txt", "Makefile", ".py")):
        # A # after an opened quote begins no comment. Python's documentation strings are comments.
        pattern = r"(?<=\n)[^\n#]*(?<!\S)#[^\n]*"
        if "python" in text[:40] or path.endswith(".py"):
            pattern += r'|"{3}.*?"{3}'
    else:
        return text, ""
    code, comments, last = [], [], 0
    for match in re.finditer(pattern, text, re.S | re.M):
        start = match.start()
        word = match.group()
        if word[0] not in "/\"'":  # a line of a script, up to its comment
            start += word.index("#")
            if any(word[: word.index("#")].count(quote) % 2 for quote in "\"'"):
                continue
        is_comment = text[start] in "/#" or text.startswith('"' * 3, start)
        for kind, mine in (code, not is_comment), (comments, is_comment):
            kind.append(text[last:start] if kind is code else blank(text[last:start]))
            kind.append(text[start : match.end()] if mine else blank(text[start : match.end()]))
        last = match.end()
    code.append(text[last:])
    return "".join(code), "".join(comments)
