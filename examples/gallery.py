"""Run the examples beside this file: ``python examples/gallery.py [folder] [name ...]``.

An example is a file with a docstring (a title, then what one learns) and a function
``main()``, which prints and returns its figures. With a folder the figures are written there.
"""

import contextlib
import importlib.util
import io
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ORDER = (
    "certified_precision",
    "certified_fairness",
    "how_many_rows",
    "precision_floor",
    "price_of_precision",
    "equal_opportunity",
    "deployed_model",
    "fewer_changes",
    "costs",
    "another_mix",
    "model_selection",
    "only_scores",
    "beyond_memory",
    "any_metric",
    "many_classes",
    "stream_text",
    "report_page",
)


@dataclass(frozen=True)
class Example:
    """An example as it is written."""

    name: str
    title: str
    text: str
    code: str  # what follows the docstring


def read(name):
    """The example of this name, without running it."""
    source = (HERE / f"{name}.py").read_text(encoding="utf-8")
    docstring, code = source.removeprefix('"""').split('"""\n', 1)
    title, _, text = docstring.strip().partition("\n\n")
    return Example(name, title.removesuffix("."), text, code.strip() + "\n")


def run(name):
    """What the example prints, and its figures."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        figures = module.main()
    return out.getvalue(), figures


def svg(figure):
    """A figure as SVG, the same bytes in every run; the figure is closed."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "setpoint"}), io.StringIO() as file:
        figure.savefig(file, format="svg", metadata={"Date": None}, facecolor="white")
        plt.close(figure)
        return file.getvalue()


def pictures(name, figures):
    """File names and SVG text of an example's figures."""
    return {f"{name}_{i}.svg": svg(figure) for i, figure in enumerate(figures, 1)}


def main(folder=None, *names):
    """Print what the examples print; write their pictures if a folder is given."""
    for name in names or ORDER:
        print(f"== {read(name).title}\n")
        printed, figures = run(name)
        print(printed)
        for file, text in pictures(name, figures).items():
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
                Path(folder, file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
