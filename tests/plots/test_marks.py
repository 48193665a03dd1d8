from __future__ import annotations

from matplotlib.colors import to_hex

from roofline.plots import style
from roofline.plots.draw import draw
from roofline.plots.draw_blocks import _rectangles
from roofline.plots.figure import Axis, Cell, Figure, Point

AXIS = Axis(label="size", unit="1", low=0.5, high=500.0)


def test_many_points_are_few_artists_and_each_is_drawn_once_as_it_looks() -> None:
    tones = ["hbm:bandwidth"] * 200 + ["vector:throughput"] * 200
    points = tuple(
        Point(key=str(at), label="", x=at + 1.0, y=at + 2.0, tone=tone, hollow=at % 200 < 100)
        for at, tone in enumerate(tones)
    )
    axes = draw(Figure(key="a", title="", subtitle="", x=AXIS, y=AXIS, points=points)).axes
    drawn = {}
    for line in axes.lines:
        face, edge = to_hex(line.get_markerfacecolor()), to_hex(line.get_markeredgecolor())
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert (x, y) not in drawn
            drawn[x, y] = (face, edge)
    assert len(axes.lines) == 4
    assert set(drawn) == {(point.x, point.y) for point in points}
    for point in points:
        tone = to_hex(style.tone_colour(point.tone))
        expected = ("#ffffff", tone) if point.hollow else (tone, "#ffffff")
        assert drawn[point.x, point.y] == expected


def test_cells_of_one_colour_side_by_side_are_one_rectangle_over_the_same_area() -> None:
    colours = ["red", "red", "blue", "blue", "red", "red"]
    cells = [
        Cell(key="", row=0, x=0, y=0, left=x, right=x + 1.0, bottom=y, top=y + 1.0)
        for y in (0.0, 1.0)
        for x in (0.0, 1.0, 2.0)
    ]
    places, fills = _rectangles(cells, colours)
    assert fills == ["red", "blue", "blue", "red"]
    # the blue cell that ends a row does not run on into the next
    assert [(*place[0], *place[2]) for place in places] == [
        (0, 0, 2, 1),
        (2, 0, 3, 1),
        (0, 1, 1, 2),
        (1, 1, 3, 2),
    ]
