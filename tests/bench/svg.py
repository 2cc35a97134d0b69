# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures without a library: lines over an axis, and values with intervals."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
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

    def text(self, x, y, what, anchor='start', size=11, colour='#222'):
        self.parts.append(
            '<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" '
            'fill="%s">%s</text>' % (x, y, size, anchor, colour, escape(what)))

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


def lines(path, title, x_label, y_label, series, bands=(), level=None):
    """@series: {name: [(x, y), ...]}; @bands: (x1, x2, name) shown as grey;
    @level: (y, name), a dashed line."""
    pic = Picture(title)
    xs = [x for points in series.values() for x, _ in points] or [0, 1]
    ys = [y for points in series.values() for _, y in points] or [0, 1]
    ys += [level[0] * 1.05] if level else []
    x_low, x_high = min(xs), max(xs)
    y_low, y_high = min(0, min(ys)), max(ys) or 1
    w, h = pic.width - LEFT - RIGHT, pic.height - TOP - BOTTOM

    def at(x, y):
        return (LEFT + w * (x - x_low) / ((x_high - x_low) or 1),
                TOP + h * (1 - (y - y_low) / ((y_high - y_low) or 1)))
    for x1, x2, name in bands:
        left, right = at(x1, 0)[0], at(x2, 0)[0]
        pic.rect(left, TOP, max(right - left, 1), h, '#888', 0.25)
        pic.text(left + 2, TOP + 12, name, size=10)
    for v in ticks(y_low, y_high):
        y = at(x_low, v)[1]
        pic.line(LEFT, y, LEFT + w, y)
        pic.text(LEFT - 6, y + 4, '%g' % round(v, 9), anchor='end')
    for v in ticks(x_low, x_high):
        x = at(v, 0)[0]
        pic.line(x, TOP + h, x, TOP + h + 4, '#222')
        pic.text(x, TOP + h + 18, '%g' % round(v, 9), anchor='middle')
    if level:
        y = at(x_low, level[0])[1]
        pic.line(LEFT, y, LEFT + w, y, '#222', 1, '4 3')
        pic.text(LEFT + w, y - 4, level[1], anchor='end', size=10)
    for i, (name, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        pic.polyline([at(x, y) for x, y in points], colour)
        if len(series) > 1:
            pic.text(LEFT + 8 + 120 * i, pic.height - 8, name, colour=colour)
    pic.text(LEFT + w / 2, pic.height - 18, x_label, anchor='middle')
    pic.text(LEFT - 60, TOP - 10, y_label)
    pic.write(path)


def intervals(path, title, x_label, rows):
    """@rows: (name, [values]): every value a dot, the median a bar."""
    pic = Picture(title, height=TOP + BOTTOM + 26 * max(1, len(rows)))
    left = 40 + 7 * max([len(name) for name, _ in rows] or [0])
    w, h = pic.width - left - RIGHT, pic.height - TOP - BOTTOM
    values = [v for _, vs in rows for v in vs] or [1]
    low, high = min(0, min(values)), max(values) or 1

    def at(v):
        return left + w * (v - low) / ((high - low) or 1)
    for v in ticks(low, high):
        pic.line(at(v), TOP, at(v), TOP + h)
        pic.text(at(v), TOP + h + 16, '%g' % round(v, 9), anchor='middle')
    for i, (name, vs) in enumerate(rows):
        y = TOP + 26 * i + 13
        colour = COLOURS[i % len(COLOURS)]
        pic.text(left - 8, y + 4, name, anchor='end')
        if not vs:
            pic.text(left + 4, y + 4, 'did not end', size=10)
            continue
        pic.line(at(min(vs)), y, at(max(vs)), y, colour, 1.5)
        for v in vs:
            pic.dot(at(v), y, colour)
        middle = sorted(vs)[len(vs) // 2] if len(vs) % 2 else sum(
            sorted(vs)[len(vs) // 2 - 1:len(vs) // 2 + 1]) / 2
        pic.rect(at(middle) - 2, y - 9, 4, 18, colour)
    pic.text(left + w / 2, pic.height - 10, x_label, anchor='middle')
    pic.write(path)
