"""The thirteen programs of this folder, what is known about their functions, and what a tool says about them."""
import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ["elevator", "philo", "tsp", "sor", "moldyn", "montecarlo", "raytracer", "hedc", "multiset", "colt", "jbb",
            "mtrt", "jigsaw"]
BROKEN = ("bug", "benign")


class Region:
    """A row of the table `regions`: the verdict on one function."""

    def __init__(self, line):
        fields = re.split(r"\t+", line.rstrip("\n"))
        if len(fields) != 5:
            raise SystemExit(f"regions: not five columns: {line}")
        self.program, self.function, self.verdict, self.always, self.reason = fields
        if self.verdict not in ("atomic", "bug", "benign", "waits") or not re.fullmatch(r"-|r?c?p?", self.always):
            raise SystemExit(f"regions: unknown verdict or tools: {line}")


def regions(program):
    """The table's rows about the program, by function."""
    with open(HERE / "regions", encoding="utf-8") as file:
        rows = [Region(line) for line in file if line.strip() and not line.startswith("#")]
    return {row.function: row for row in rows if row.program == program}


def verdict(table, function):
    """bug, benign, or false: no row says that the function can be interrupted."""
    row = table.get(function)
    return row.verdict if row and row.verdict in BROKEN else "false"


def results(path):
    """The results of each engine in a file of --format=json."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["results"]


def function_of(finding):
    """The innermost function that a finding is about."""
    if finding.get("region") and finding["region"]["name"]:
        return finding["region"]["name"]
    blame = finding.get("blame") or finding.get("transaction") or {}
    refuted = blame.get("refuted") or [blame.get("label")]
    return refuted[-1] or "an operation outside blocks"


def functions_of(result):
    """The functions that the shown findings are about. A prediction that is only possible is not shown."""
    return {function_of(f) for f in result["findings"] if f.get("feasible") is not False}
