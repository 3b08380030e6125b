"""The repository's Markdown files as pages of the site; conf.py makes this an extension of Sphinx.

A page X/README.md becomes X/index.html, X/Y.zh.md becomes X/Y.html in zh, and book/README.zh.md is its front page: so
both languages of a page have one name. Links become those of the HTML pages. What else a page links to is shown by a
page in English: a directory by its README or a list of its files, or the file itself. A picture is copied. A line
<!-- step: NAME --> becomes the viewer's place if build's OUT/steps/NAME.js exists. A chapter's page offers what
`make one` has written of it, below build/one. check_texts knows links that lead nowhere.
"""
import glob
import html
import os
import re
import shutil
import subprocess
from os.path import basename, dirname, exists, isdir, join, normpath, relpath

from docutils import nodes
from sphinx.transforms import SphinxTransform

MOST_ROWS = 200  # of a table's file
FRONT = "Asynchronous programming on Hopper"
WORDS = {
    "en": ("In one file, which nvcc alone compiles", "The ladder", "Beyond", "The book", "The laboratory", "notes"),
    "zh": ("单个文件，只需 nvcc 即可编译", "八级阶梯", "八章之后", "其他页面", "笔记与测试", "笔记"),
}
TOP = dirname(dirname(dirname(os.path.abspath(__file__))))  # Sphinx reads conf.py in its own directory
FILES = subprocess.run(["perl", "-Itests/book", "-MMarkdown", "-e", r'print map { "$_\n" } Markdown::tracked()'],
                       cwd=TOP, check=True, capture_output=True, text=True).stdout.splitlines()
CHINESE = r"[\u4e00-\u9fff，。、；：！？（）《》“”…]"


def read(path):
    with open(join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def page_of(path):
    """The language of a Markdown file's page, and its name."""
    name = re.sub(r"(\.zh)?\.md$", "", path.removeprefix(".github/"))
    return ("zh" if path.endswith(".zh.md") else "en",
            "index" if path == "book/README.zh.md" else re.sub(r"(^|/)README$", r"\1index", name))


PAGES = {"en": {}, "zh": {}}  # names with their files
for path in FILES:
    if path.endswith(".md"):
        PAGES[page_of(path)[0]][page_of(path)[1]] = path


def chapter(name):
    return (re.match(r"(?:beyond/)?(\d\d)_[^/]*/index$", name) or [None, None])[1]


def title(language, name, whole=False):
    """Its heading, or what is short enough for the sidebar."""
    text = re.search(r"^# +(.*)", read(PAGES[language][name]), re.M)[1].replace("`", "")
    notes = re.search(r"(?:^|/)(\d\d)_[^/]*/notes$", name)
    if whole or name.startswith("book/"):
        return text
    return f"{notes[1]} {WORDS[language][5]}" if notes else re.sub(r"\s*[:：].*", "", text)


def sidebar(language):
    """(caption, [(title, name)]): each page once. The book's pages are in the order of the front page's last links."""
    pages, titles, front, seen = PAGES[language], {}, [], {"index"}
    for words, target in re.findall(r"\[([^\[\]]+)\]\(([^)#\s]+)", read(pages["index"])):
        path = normpath(join(dirname(pages["index"]), target))
        if path.endswith(".md") and path in FILES and page_of(path)[0] == language:
            front.append(page_of(path)[1])
            if re.match(r"[A-Z\u4e00-\u9fff]", words) and front[-1].startswith("book/"):
                titles[front[-1]] = re.sub("[`\n]", "", words)
    front = [*dict.fromkeys(reversed(front))][::-1]
    every = sorted(pages, key=lambda name: re.sub(r"(?<=/)index$", " ", name))
    _, *captions, _ = WORDS[language]
    choices = (["book/start_here"], [name for name in every if re.match(r"\d\d_[^/]*/index$", name)],
               [name for name in every if re.match(r"beyond/.*/index$", name)],
               [name for name in front + every if name.startswith("book/")] + ["CONTRIBUTING"],
               [name for name in every if name.endswith("/notes")] + every)
    for caption, names in zip([None, *captions], choices):
        names = [name for name in dict.fromkeys(names) if name in pages and name not in seen]
        seen.update(names)
        if names:
            yield caption, [(titles.get(name) or title(language, name), name) for name in names]


def one_file(language, name):
    """Links to a chapter and its steps as one file each. A hosted page also offers Compiler Explorer, see one.js."""
    links = []
    for path in sorted(glob.glob(f"build/one/{chapter(name)}_*.cu")):
        to = relpath(f"en/one/{basename(path)}", dirname(f"{language}/{name}"))
        links.append(f'<a href="{to}" download>{basename(path)}</a> '
                     f'<a class="explorer" data-file="{to}" hidden>Compiler Explorer</a>')
    return f'<p class="one">{WORDS[language][0]}: {", ".join(links)}</p>\n\n' if links else ""


def stage(app, config):
    """Writes the pages' sources."""
    app.language = "zh" if "zh" in app.tags else "en"
    app.site = dirname(str(app.outdir))
    app.wanted = {}  # files and directories to show
    for name, path in PAGES[app.language].items():
        text = re.sub(r"^(# .*\n)", lambda m: f"{m[1]}\n{one_file(app.language, name)}", read(path), count=1)
        for line, step in re.findall(r"^(<!-- step: ([\w-]+) -->)$", text, re.M):
            if exists(f"{app.site}/steps/{step}.js"):
                text = text.replace(line, f'<div class="step" data-step="{step}"></div>')
        if 'class="step"' in text:
            steps = relpath("steps", dirname(f"{app.language}/{name}"))
            text += (f'\n<link rel="stylesheet" href="{steps}/step.css">\n'
                     f'<script src="{steps}/step_words.js"></script>\n<script src="{steps}/step.js"></script>\n')
        if name == "index":
            for caption, entries in sidebar(app.language):
                text += "\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "") + "\n"
                text += "".join(f"{words} <{entry}>\n" for words, entry in entries) + "```\n"
        os.makedirs(dirname(f"{app.srcdir}/{name}"), exist_ok=True)
        with open(f"{app.srcdir}/{name}.md", "w", encoding="utf-8") as file:
            file.write(text)


class Links(SphinxTransform):
    """Links and pictures lead to what the site has. GitHub's anchor of a heading comes first, so that the contents and
    the headings' own links name it. Chinese has no blanks, but a line's end would become one."""

    default_priority = 701  # MyST adds the anchors at 700

    def apply(self):
        path = PAGES[self.app.language][self.env.docname]
        here = dirname(f"{self.app.language}/{self.env.docname}")
        for node in self.document.findall(nodes.reference):
            target, mark, anchor = node.get("refuri", "#").partition("#")
            if target and not re.match(r"[a-z]+:", target):
                node["refuri"] = relpath(self.place(path, target), here) + mark + anchor
        for node in self.document.findall(nodes.image):
            picture = normpath(join(dirname(path), node["uri"]))
            os.makedirs(dirname(f"{self.app.srcdir}/{picture}"), exist_ok=True)
            shutil.copy(picture, f"{self.app.srcdir}/{picture}")
            node["uri"] = f"/{picture}"
        for section in self.document.findall(nodes.section):
            if section.get("slug") in section["ids"]:
                section["ids"].remove(section["slug"])
                section["ids"].insert(0, section["slug"])
        for parent in self.document.findall(nodes.TextElement):
            for i in reversed(range(1, len(parent) - 1)):
                around = parent[i - 1].astext()[-1:], parent[i + 1].astext()[:1]
                if parent[i].astext() == "\n" and all(re.match(CHINESE, letter) for letter in around):
                    del parent[i]

    def place(self, path, target):
        """What shows a link's target, from the top of the site."""
        to = normpath(join(dirname(path), target))
        if isdir(to) and join(to, "README.md") in FILES:
            to = normpath(join(to, "README.md"))
        if to.endswith(".md"):
            return "/".join(page_of(to)) + ".html"
        elif to.endswith((".svg", ".png")):
            self.app.wanted[to] = f"en/{to}"
        else:
            self.app.wanted[to] = f"en/source/{to}.html"
        return self.app.wanted.get(to, to)


def inside(directory):
    """The files and directories in a directory."""
    return sorted({re.match(f"{directory}/[^/]*", file)[0] for file in FILES if file.startswith(f"{directory}/")})


def shown(path, body):
    """A page that shows a file or a directory. It is plain HTML: as pages of Sphinx, each with the sidebar, these were
    two thirds of the site."""
    up = "../" * (path.count("/") + 1)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path}</title><link rel="stylesheet" href="{up}_static/source.css"></head>
<body><p><a href="{up}index.html">{FRONT}</a></p><h1>{path}</h1>
{body}</body></html>
"""


def source(path):
    lines = html.escape(read(path), quote=False).splitlines()
    said = ""
    if path.endswith((".csv", ".tsv")) and len(lines) > MOST_ROWS:
        said = f"<p>The first {MOST_ROWS} of {len(lines)} lines.</p>\n"
        del lines[MOST_ROWS:]
    text = "\n".join(lines)
    if path.endswith(".patch"):
        text = re.sub(r"^(\+.*)$", r"<ins>\1</ins>", text, flags=re.M)
        text = re.sub(r"^(-.*)$", r"<del>\1</del>", text, flags=re.M)
    elif path.endswith((".c", ".cu", ".h", ".css", ".js")):
        text = re.sub(r"(/\*.*?\*/)", r"<i>\1</i>", text, flags=re.S)
    else:
        text = re.sub(r"^(\s*#.*)$", r"<i>\1</i>", text, flags=re.M)
    numbers = "\n".join(map(str, range(1, len(lines) + 1)))
    return shown(path, f"{said}<div><pre>{numbers}</pre><pre>{text}</pre></div>\n")


def listing(app, directory):
    items = ""
    for path in inside(directory):
        to = "/".join(page_of(path)) + ".html" if path.endswith(".md") else app.wanted.get(path)
        name = basename(path) + ("/" if isdir(path) else "")
        link = f'<a href="{relpath(to, dirname(f"en/source/{directory}"))}">{name}</a>' if to else name
        items += f"<li>{link}</li>\n"
    return shown(directory, f"<ul>\n{items}</ul>\n")


def write_others(app, exception):
    """What is linked and is no page, in the English site, where the Chinese one may have more of it."""
    for directory in filter(isdir, list(app.wanted)):  # a list leads to its files
        for path in inside(directory):
            if not isdir(path) and not path.endswith((".md", ".svg", ".png")):
                app.wanted[path] = f"en/source/{path}.html"
    for path in glob.glob("build/one/*.cu"):
        app.wanted[path] = f"en/one/{basename(path)}"
    for path, to in app.wanted.items():
        to = f"{app.site}/{to}"
        os.makedirs(dirname(to), exist_ok=True)
        if not to.endswith(".html"):
            shutil.copy(path, to)
        elif not exists(to):
            with open(to, "w", encoding="utf-8") as file:
                file.write(listing(app, path) if isdir(path) else source(path))


def setup(app):
    app.connect("config-inited", stage)
    app.connect("build-finished", write_others)
    app.add_transform(Links)
