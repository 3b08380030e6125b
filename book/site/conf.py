# The site's configuration for Sphinx; the tag zh makes the Chinese one. book/site/build calls it.
import html
import json
import logging
import os
import re
import sys

import jieba
from docutils import nodes
from sphinx.search.zh import SearchChinese

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
sys.dont_write_bytecode = True
import pages  # noqa: E402, which is next to this file

zh = tags.has("zh")  # noqa: F821, which Sphinx defines
other = "en" if zh else "zh"
project = pages.title("zh" if zh else "en", "index", whole=True)
language = "zh_CN" if zh else "en"
extensions = ["myst_parser", "pages"]
smartquotes = False
highlight_language = "none"
pygments_style = "tango"
templates_path = ["_templates"]

# The pages are GitHub's Markdown: what MyST adds to it is off, and links are as pages.py makes them.
myst_all_links_external = True
myst_heading_anchors = 6
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["one.js"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_permalinks_icon = "#"
html_search_scorer = os.path.join(here, "scorer.js")
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "article_header_end": ["language.html", "article-header-buttons.html"],
    "navbar_persistent": [],
    "footer_content_items": [],
    "max_navbar_depth": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {
    "**": ["navbar-logo.html", "search-button-field.html", "steps.html", "sbt-sidebar-nav.html", "english.html"],
}
html_context = {"default_mode": "auto"}

# Sphinx 9.0 calls the stemmer of Chinese pages, which is the English one, by the language's name: there is none.
SearchChinese.language_name = "English"
SearchChinese.js_splitter_code = open(os.path.join(here, "split_zh.js"), encoding="utf-8").read()
jieba.setLogLevel(logging.WARNING)


def add_context(app, name, templatename, context, doctree):
    """The same page in the other language, or that language's front page; the stepping pages; English pages."""
    up = "../" * name.count("/")
    there = name if name in pages.PAGES[other] else "index"
    context["other_language"] = {"url": f"{up}../{other}/{there}.html", "text": "English" if zh else "中文"}
    if os.path.exists(f"{app.site}/steps/index.html"):
        query = "?lang=zh" if zh else ""
        context["steps"] = [(f"{up}../steps/index.html{query}", "逐步执行" if zh else "Step through it")]
    if zh:
        context["english"] = [(f"{up}../en/{name}.html", title) for _, entries in pages.sidebar("en")
                              for title, name in entries if name not in pages.PAGES["zh"]]


def add_words(app):
    """The glossary's Chinese words are words for the search too."""
    os.makedirs(app.doctreedir, exist_ok=True)
    jieba.dt.tmp_dir = str(app.doctreedir)  # where it keeps its dictionary
    with open(os.path.join(here, "..", "glossary.md"), encoding="utf-8") as file:
        for cells in (line.split("|") for line in file if line.startswith("|")):
            for word in re.findall(r"[\u4e00-\u9fff]{2,}", cells[2]):
                jieba.add_word(word)


def words(node):
    """A page's text as the search wants it to show what it found: nested sections with their anchors."""
    if isinstance(node, (nodes.section, nodes.document)):
        return '<section id="%s">%s</section>' % (next(iter(node["ids"]), ""), "".join(map(words, node.children)))
    return "" if isinstance(node, (nodes.raw, nodes.comment, nodes.Invisible)) else html.escape(node.astext()) + "\n"


def write_texts(app, exception):
    """What search.html reads in place of the pages: from disk a page cannot read another page, and theirs begin with
    their contents."""
    texts = {f"./{name}.html": '<div role="main">%s</div>' % words(app.env.get_doctree(name))
             for name in app.env.found_docs}
    with open(os.path.join(app.outdir, "_static", "texts.js"), "w", encoding="utf-8") as file:
        file.write("const texts = %s;\n" % json.dumps(texts, ensure_ascii=False))


def setup(app):
    if zh:
        add_words(app)
    app.connect("html-page-context", add_context)
    app.connect("build-finished", write_texts)
