"""Tables with everything that real ones have."""

import numpy as np

GOAL = "maximize recall subject to precision >= 0.7 and recall.difference(sex) <= 0.3"
BEST = "maximize recall subject to precision >= 0.5"
HEAD = "id,sex,age,income,city,since,old,y"


def lines_of(n_rows, seed=0):
    """Rows with numbers, groups, categories, missing values, dates and a deployed model."""
    r = np.random.default_rng(seed)
    out = []
    for i in range(n_rows):
        sex, city = r.choice(["f", "m"]), r.choice(["Bonn", "Kiel", "Köln", ""])
        age, income = int(r.integers(18, 80)), r.normal(50, 15)
        z = (income - 50) / 8 + (age - 50) / 20 + 0.5 * (sex == "m") + r.normal()
        y, old = int(z > 0.7), int(z + r.normal() > 0.9)
        shown = f"{income:.2f}" if r.random() > 0.05 else ""
        day = f"20{r.integers(10, 24)}-0{r.integers(1, 10)}-1{r.integers(0, 10)}"
        out.append(f"{i:05d},{sex},{age},{shown},{city},{day},{old},{y}")
    return out


def write(path, lines, head=HEAD):
    path.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    return path


def scored(n_rows, seed):
    """A category, gaps, dates; the deployed model's scores and decisions."""
    r = np.random.default_rng(seed)
    out = []
    for _ in range(n_rows):
        sex, city, age = r.choice(["f", "m"]), r.choice(["Bonn", "Kiel"]), r.normal(40, 10)
        z = (age - 40) / 5 + 0.8 * (sex == "m") + 0.5 * (city == "Kiel")
        s = z + 0.5 * r.normal() - 0.6
        y = "yes" if z + 0.8 * r.normal() > 0.6 else "no"
        shown = f"{age:.2f}" if r.random() > 0.05 else ""
        day = f"2024-0{r.integers(1, 10)}-1{r.integers(0, 10)}"
        out.append(f"{sex},{city},{shown},{day},{s:.3f},{'yes' if s >= 0 else 'no'},{y}")
    return out


SCORED = "sex,city,age,since,score,old,y"
