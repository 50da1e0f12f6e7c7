#!/usr/bin/env python3
"""Usage: tests/scaling/model.py [COUNTS]

Makes the tables of tests/scaling/model.md and the picture of docs/scaling.md: how long the calls take with more ranks
than anybody here has.
COUNTS is the page with the table of counts, tests/scaling/counts.md if none is named. Needs nothing but Python.

How often ranks talk and how much they send was counted (COUNTS). How it grows is fitted to that: a + b log P + c P,
none of them negative. What a message, a byte and an operation on a file cost is a parameter of the machine. The
seconds that were simulated (simulated.txt) show how wrong it is.
"""

import itertools
import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
PAGE = HERE / "model.md"
SIZES = [64, 1024, 4096, 24576, 131072, 1048576]

# Seconds for a message: up to how many ranks apart it takes how long, the last one for all others. Then seconds
# from one message to the next at one rank, bytes a second of a rank's messages, bytes a second that rank 0 takes apart,
# and operations a second on files. model.md says where each is from.
SLINGSHOT = dict(latency=[(8, 0.5e-6), (0, 2.0e-6)], gap=0.3e-6, bandwidth=25e9, reading=0.3e9)
TOFU = dict(latency=[(8, 0.5e-6), (0, 1.2e-6)], gap=0.5e-6, bandwidth=6.8e9, reading=0.1e9)
MACHINES = {
    "Frontier": dict(SLINGSHOT, operations=100e3),
    "Fugaku": dict(TOFU, operations=30e3),
    "Perlmutter": dict(SLINGSHOT, operations=400e3),
}
# What tests/smpi/run.sh simulates, as measured there between two ranks; computing and files take no time.
SIMULATED = dict(latency=[(16, 0.61e-6), (256, 6.05e-6), (0, 12.1e-6)], gap=0.0, bandwidth=1.9e9,
                 reading=math.inf, operations=math.inf)

# Operations of each rank in the prefix directory, counted by the simulator (tests/simulate/worst.rs).
OPERATIONS = {"SCR_Complete_output, XOR and flush": 9, "SCR_Have_restart, fetch": 6}

# The names of the calls in the table of counts, and in what tests/smpi/cycle.c prints.
LINES = {
    "SCR_Init, empty cache": "write Init",
    "SCR_Start_output": "write Start_output",
    "SCR_Complete_output, XOR": "write Complete_output.first",
    "SCR_Init, checkpoint in the cache": "intact Init",
    "SCR_Have_restart, in the cache": "intact Have_restart",
    "SCR_Init, a node was lost": "lost Init",
    "SCR_Have_restart, a node was lost": "lost Have_restart",
    "SCR_Finalize": "write Finalize",
}
KINDS = ["rounds", "messages", "sent", "received", "read"]


def counts(path, on_node):
    """For each call and kind of count, its values by the number of ranks."""
    found = {}
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 14 or not cells[1].isdigit() or int(cells[2]) != on_node:
            continue
        numbers = [int(cell) for cell in cells[4:13]]
        rounds, messages, _, sent, _, _, received, _, read = numbers
        for kind, value in zip(KINDS, [rounds, messages, sent, received, read]):
            found.setdefault(cells[3], {}).setdefault(kind, {})[int(cells[1])] = value
    return found


def solve(rows, values):
    """The coefficients for which rows times coefficients is nearest to the values."""
    size = len(rows[0])
    matrix = [[sum(r[i] * r[j] for r in rows) for j in range(size)] for i in range(size)]
    right = [sum(r[i] * v for r, v in zip(rows, values)) for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda row: abs(matrix[row][i]))
        if abs(matrix[pivot][i]) < 1e-12:
            return None
        matrix[i], matrix[pivot], right[i], right[pivot] = matrix[pivot], matrix[i], right[pivot], right[i]
        for row in range(size):
            if row != i:
                factor = matrix[row][i] / matrix[i][i]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[i])]
                right[row] -= factor * right[i]
    return [right[i] / matrix[i][i] for i in range(size)]


TERMS = [lambda p: 1.0, lambda p: math.log2(p), lambda p: float(p)]


def fit(values):
    """a, b and c of a + b log P + c P, none negative, with the least relative error; few of them if that is as good."""
    best = None
    for used in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        if len(used) > len(values):
            continue
        scale = {p: max(v, 1) for p, v in values.items()}
        rows = [[TERMS[i](p) / scale[p] for i in used] for p in values]
        found = solve(rows, [v / scale[p] for p, v in values.items()])
        if found is None or min(found) < 0:
            continue
        form = [0.0, 0.0, 0.0]
        for place, value in zip(used, found):
            form[place] = value
        error = max(abs(at(form, p) - v) / scale[p] for p, v in values.items())
        if best is None or error < best[0] - 0.002:
            best = (error, form)
    return best[1] if best else [max(values.values()), 0.0, 0.0]


def at(form, p):
    return sum(value * term(p) for value, term in zip(form, TERMS))


def round_of(machine, p):
    """The seconds of a round: log P messages, one after the other, each to a rank twice as far as the one before."""
    apart, took = 1, 0.0
    while apart < p:
        of_step = next(of for most, of in machine["latency"] if apart < most or not most)
        took += of_step + machine["gap"]
        apart *= 2
    return took


def seconds(call, forms, machine, p):
    """The parts of the time of a call, by name."""
    return {
        "rounds": at(forms["rounds"], p) * round_of(machine, p),
        "messages": at(forms["messages"], p) * machine["gap"],
        "bytes": (at(forms["sent"], p) + at(forms["received"], p)) / machine["bandwidth"],
        "rank 0 reads": at(forms["read"], p) / machine["reading"],
        "file system": OPERATIONS.get(call, 0) * p / machine["operations"],
    }


def lines(path):
    """Seconds by the number of ranks and the name of the line."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        word = line.split()
        if len(word) == 4 and not line.startswith("#"):
            found.setdefault(int(word[0]), {})[f"{word[1]} {word[2]}"] = float(word[3])
    return found


def time(value):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e6:.2g} us"


def table(head, rows):
    text = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(text + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def formula(form):
    words = [f"{form[0]:.3g}", f"{form[1]:.3g} log P", f"{form[2]:.3g} P"]
    return " + ".join(word for word, value in zip(words, form) if value) or "0"


def picture(path, title, curves):
    """Curves of seconds over ranks, both logarithmic. A curve is a name and points."""
    colours = ["#1b6ca8", "#c0392b", "#27823b", "#8e44ad", "#b9770e", "#16808a", "#555555", "#d2588c"]
    points = [point for _, curve in curves for point in curve if point[1] > 0]
    low, high = (f(math.log10(y) for _, y in points) for f in (min, max))
    low, high = math.floor(low), math.ceil(high)
    left, right = (f(math.log10(x) for x, _ in points) for f in (min, max))
    place = lambda x, y: (70 + 430 * (math.log10(x) - left) / (right - left),
                          340 - 290 * (math.log10(y) - low) / max(high - low, 1))
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 400" font-family="sans-serif" font-size="12">',
           '<rect width="760" height="400" fill="white"/>', f'<text x="70" y="28" font-size="15">{title}</text>']
    for power in range(low, high + 1):
        _, y = place(10**left, 10.0**power)
        out.append(f'<line x1="70" x2="500" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
                   f'<text x="64" y="{y + 4:.1f}" text-anchor="end">{time(10.0**power * 1.0001)}</text>')
    for x in sorted({x for x, _ in points}):
        at_x, _ = place(x, 10.0**low)
        out.append(f'<text x="{at_x:.1f}" y="360" text-anchor="middle" font-size="10">{x}</text>')
    out.append('<text x="285" y="382" text-anchor="middle">ranks</text>')
    for number, (name, curve) in enumerate(curves):
        colour = colours[number % len(colours)]
        path_of = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in curve if y > 0)
        out.append(f'<polyline points="{path_of}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = 60 + 20 * number
        out.append(f'<line x1="515" x2="535" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="541" y="{y + 4}" font-size="11">{name}</text>')
    path.write_text("\n".join(out + ["</svg>"]) + "\n")


def compared(title, forms, machine, found):
    """The model beside what was simulated or measured."""
    sizes = sorted(found)
    rows = []
    for call, line in LINES.items():
        row = [call]
        for p in sizes:
            was = found[p].get(line)
            model = sum(seconds(call, forms[call], machine, p).values())
            row.append(f"{time(was)} ({100 * (model - was) / was:+.0f} %)" if was else "")
        rows.append(row)
    return f"{title}\n\n" + table(["call"] + [f"{p} ranks" for p in sizes], rows)


def enter(name, text):
    """Puts a text between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    page = PAGE.read_text()
    before, rest = page.split(begin)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "counts.md"
    counted = counts(path, 8)
    if not counted:
        sys.exit(f"tests/scaling/model.py: {path} has no table of counts")
    forms = {call: {kind: fit(values) for kind, values in kinds.items()} for call, kinds in counted.items()}
    sizes = sorted({p for kinds in counted.values() for values in kinds.values() for p in values})
    told = ", ".join(str(p) for p in sizes)
    text = ["## How the counts grow", "", f"Counted with {told} ranks, 8 on a node. All that is beyond is the form.", ""]
    text.append(table(["call", "rounds", "messages of a rank", "bytes that a rank sends", "bytes that rank 0 reads"],
                      [[call] + [formula(form[kind]) for kind in ("rounds", "messages", "sent", "read")]
                       for call, form in forms.items()]))
    text += ["## Seconds", "", "With 24,576 and 1,048,576 ranks, what takes most of the time with the latter, and the number of ranks "
             "with which the call takes more than ten seconds on each machine:", ""]
    rows = []
    for call, form in forms.items():
        parts = [seconds(call, form, machine, SIZES[-1]) for machine in MACHINES.values()]
        most = dict.fromkeys(max(of, key=of.get) for of in parts)
        over = [next((str(p) for p in (2**n for n in range(6, 31))
                      if sum(seconds(call, form, machine, p).values()) > 10), "never") for machine in MACHINES.values()]
        rows.append([call] + [time(sum(seconds(call, form, machine, p).values()))
                              for machine in MACHINES.values() for p in (24576, SIZES[-1])]
                    + [", ".join(most), ", ".join(over if len(set(over)) > 1 else over[:1])])
    text.append(table(["call"] + [f"{name}, {p}" for name in MACHINES for p in (24576, SIZES[-1])]
                      + ["most of it", "over 10 s from"], rows))
    curves = [(call.replace("SCR_", ""), [(p, sum(seconds(call, form, MACHINES["Frontier"], p).values())) for p in SIZES])
              for call, form in forms.items() if call not in ("SCR_Start_output", "SCR_Finalize")]
    picture(DOCS / "images/scaling.svg", "Seconds of the calls on Frontier", curves)
    text += ["![Seconds of each call on Frontier, by the number of ranks.](../../docs/images/scaling.svg)", ""]
    text += ["## How wrong it is", ""]
    title = "Simulated with SMPI, in brackets by how much the model differs:"
    text.append(compared(title, forms, SIMULATED, lines(HERE / "simulated.txt")))
    enter("model", "\n".join(text))


main()
