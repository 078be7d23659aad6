"""`ops/bin/bench NAME [arguments]`."""

import typer

from ops.bench import edge_lists, import_edges, memory

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
app.command("import")(import_edges.run)
app.command("memory")(memory.run)
app.command("lists")(edge_lists.run)


@app.callback()
def benchmarks() -> None:
    """Benchmarks of graphsvc, each beside a peer on the same machine in the same run.

    Progress goes to standard error; the last line of standard output is one JSON object.
    """


if __name__ == "__main__":
    app()
