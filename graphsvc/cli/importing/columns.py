"""The columns of the file that an import or a comparison reads."""

from graphsvc.cli.edge_files.layout import FileUnusable, Layout, LayoutOptions
from graphsvc.cli.edge_files.reader import EdgeReader


def find_columns(reader: EdgeReader, asked: LayoutOptions) -> Layout | None:
    """Read as far as it takes to tell the columns; None: the file has no rows.

    Raises:
        FileUnusable: the columns that are asked for, or that are needed, aren't there.
    """
    layout = reader.detect()
    if asked.time_unit is not None and layout is not None and layout.time is None:
        raise FileUnusable("--time-unit: no column of times is found; name it with --time-column")
    return layout
