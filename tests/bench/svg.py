# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures without a library: lines over an axis, and values with intervals."""
import math
import statistics
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
CHAR = 6.6  # how wide a letter is, about
COLOURS = ['#1f6fb4', '#d1622b', '#3a8f3f', '#8c4fa8', '#a08020', '#555555']


def nice_step(span):
    """1, 2 or 5 times a power of ten, about a sixth of @span."""
    step = 10.0 ** -9
    while step * 6 < span:
        for factor in (2, 2.5, 2):
            if step * 6 >= span:
                break
            step *= factor
    return step


def ticks(low, high):
    step = nice_step((high - low) or 1)
    first = int(low / step) - 1
    values = [step * i for i in range(first, first + 20)]
    return [v for v in values if low - step / 1e6 <= v <= high + step / 1e6]


class Picture:
    def __init__(self, title, width=WIDTH, height=HEIGHT):
        self.width, self.height = width, height
        self.parts = []
        self.text(width / 2, 20, title, anchor='middle', size=14)

    def text(self, x, y, what, anchor='start', size=11, colour='#222',
             halo=False):
        """@halo: white around it, so that it can be read over lines."""
        self.parts.append(
            '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" '
            'fill="%s"%s>%s</text>' % (
                x, y, size, anchor, colour, ' paint-order="stroke" '
                'stroke="white" stroke-width="3"' if halo else '',
                escape(what)))

    def line(self, x1, y1, x2, y2, colour='#ccc', width=1, dash=''):
        self.parts.append(
            '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" '
            'stroke-width="%s"%s/>' % (
                x1, y1, x2, y2, colour, width,
                ' stroke-dasharray="%s"' % dash if dash else ''))

    def polyline(self, points, colour):
        self.parts.append(
            '<polyline fill="none" stroke="%s" stroke-width="1.5" '
            'points="%s"/>' % (colour, ' '.join(
                '%.1f,%.1f' % p for p in points)))

    def rect(self, x, y, w, h, colour, opacity=1.0):
        self.parts.append(
            '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" '
            'fill-opacity="%.2f"/>' % (x, y, w, h, colour, opacity))

    def dot(self, x, y, colour):
        self.parts.append('<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>'
                          % (x, y, colour))

    def write(self, path):
        with open(path, 'w') as f:
            f.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" '
                    'height="%d" font-family="sans-serif">\n'
                    '<rect width="100%%" height="100%%" fill="white"/>\n%s\n'
                    '</svg>\n' % (self.width, self.height,
                                  '\n'.join(self.parts)))


def plain(v):
    """A number as a person writes it: 4M, 20k, 0.25."""
    for unit, letter in (1e9, 'G'), (1e6, 'M'), (1e4, 'k'):
        if abs(v) >= unit:
            return '%g%s' % (round(v / (1e3 if letter == 'k' else unit), 6),
                             letter)
    return '%g' % round(v, 9)


def legend(pic, names, y):
    """Names in their colours, in as many lines as they need; the next y."""
    x = LEFT
    for i, name in enumerate(names):
        width = 26 + CHAR * len(name) + 14
        if x > LEFT and x + width > pic.width - RIGHT:
            x, y = LEFT, y + 16
        colour = COLOURS[i % len(COLOURS)]
        pic.line(x, y - 4, x + 20, y - 4, colour, 3)
        pic.text(x + 26, y, name)
        x += width
    return y + 16


def band_labels(pic, bands, top):
    """@bands: (left, right, name), in pixels. Those that would meet are put
    below each other; at the right edge they end where they mark."""
    ends = []
    for left, right, name in sorted(bands):
        width = CHAR * len(name) + 8
        at_end = left + width > pic.width - RIGHT
        start = right - width if at_end else left
        level = next((i for i, end in enumerate(ends) if start >= end),
                     len(ends))
        ends[level:level + 1] = [start + width]
        pic.text(right - 3 if at_end else left + 3, top + 12 + 13 * level, name,
                 anchor='end' if at_end else 'start', size=10, halo=True)


def lines(path, title, x_label, y_label, series, bands=(), level=None,
          x_ticks=None, y_ticks=None):
    """@series: {name: [(x, y), ...]}; @bands: (x1, x2, name) shown as grey;
    @level: (y, name), a dashed line; @x_ticks, @y_ticks: [(value, text)],
    where an axis is no plain one."""
    pic = Picture(title)
    top = legend(pic, series, 42) if len(series) > 1 else 36
    pic.text(LEFT - 60, top + 6, y_label)
    top += 18
    pic.height += top - TOP
    xs = [x for points in series.values() for x, _ in points] or [0, 1]
    ys = [y for points in series.values() for _, y in points] or [0, 1]
    ys += [level[0]] if level else []
    x_low, x_high = min(xs), max(xs)
    y_low = min(ys) if y_ticks else min(0, min(ys))
    y_high = max(ys) or 1
    y_high += (y_high - y_low) * (0.12 if bands or level else 0.04)
    if not x_ticks:
        x_ticks = [(v, plain(v)) for v in ticks(x_low, x_high)]
    if not y_ticks:
        y_ticks = [(v, plain(v)) for v in ticks(y_low, y_high)]
    w, h = pic.width - LEFT - RIGHT, pic.height - top - BOTTOM

    def at(x, y):
        return (LEFT + w * (x - x_low) / ((x_high - x_low) or 1),
                top + h * (1 - (y - y_low) / ((y_high - y_low) or 1)))
    for x1, x2, _ in bands:
        left, right = at(x1, 0)[0], at(x2, 0)[0]
        pic.rect(left, top, max(right - left, 1), h, '#888', 0.25)
    for v, text in y_ticks:
        if y_low <= v <= y_high:
            y = at(x_low, v)[1]
            pic.line(LEFT, y, LEFT + w, y)
            pic.text(LEFT - 6, y + 4, text, anchor='end')
    for v, text in x_ticks:
        if x_low <= v <= x_high:
            x = at(v, 0)[0]
            pic.line(x, top + h, x, top + h + 4, '#222')
            pic.text(x, top + h + 18, text, anchor='middle')
    pic.line(LEFT, top + h, LEFT + w, top + h, '#222')
    if level:
        y = at(x_low, level[0])[1]
        pic.line(LEFT, y, LEFT + w, y, '#222', 1, '4 3')
    for i, points in enumerate(series.values()):
        colour = COLOURS[i % len(COLOURS)]
        pic.polyline([at(x, y) for x, y in points], colour)
        for x, y in points if len(points) <= 40 else ():
            pic.dot(*at(x, y), colour)
    band_labels(pic, [(at(x1, 0)[0], at(x2, 0)[0], name)
                      for x1, x2, name in bands], top)
    if level:
        pic.text(LEFT + w, at(x_low, level[0])[1] - 4, level[1], anchor='end',
                 size=10, halo=True)
    pic.text(LEFT + w / 2, pic.height - 10, x_label, anchor='middle')
    pic.write(path)


def intervals(path, title, x_label, rows, level=None, log=False):
    """@rows: (name, [values]): every value a dot, the median a bar; @level:
    what they are to be compared with, a dashed line; @log: values that are
    all positive, on a logarithmic axis."""
    pic = Picture(title, height=TOP + BOTTOM + 26 * max(1, len(rows)))
    left = 30 + CHAR * max([len(name) for name, _ in rows] or [0])
    w, h = pic.width - left - RIGHT - 10, pic.height - TOP - BOTTOM
    values = [v for _, vs in rows for v in vs] or [1]
    values += [level] if level is not None else []
    low, high = min(0, min(values)), max(values) or 1
    shown = ticks(low, high)
    if log:
        low, high = math.log2(min(values)), math.log2(max(values))
        base = 2 if high - low < 12 else 10
        shown = [float(base) ** i for i in range(
            math.ceil(low / math.log2(base)),
            math.floor(high / math.log2(base)) + 1)]

    def at(v):
        return left + w * ((math.log2(v) if log else v) - low) / \
            ((high - low) or 1)
    for v in shown:
        pic.line(at(v), TOP, at(v), TOP + h)
        pic.text(at(v), TOP + h + 16, plain(v), anchor='middle')
    if level is not None:
        pic.line(at(level), TOP, at(level), TOP + h, '#222', 1, '4 3')
    for i, (name, vs) in enumerate(rows):
        y = TOP + 26 * i + 13
        colour = COLOURS[i % len(COLOURS)]
        pic.text(left - 8, y + 4, name, anchor='end')
        if not vs:
            pic.text(left + 4, y + 4, 'did not end', size=10)
            continue
        pic.line(at(min(vs)), y, at(max(vs)), y, colour, 1.5)
        pic.line(at(statistics.median(vs)), y - 9, at(statistics.median(vs)),
                 y + 9, colour, 2)
        for v in vs:
            pic.dot(at(v), y, colour)
    pic.text(left + w / 2, pic.height - 10, x_label, anchor='middle')
    pic.write(path)
