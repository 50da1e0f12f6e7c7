# How Sphinx makes the documentation site from the pages in this directory; scripts/docs runs it.
# The pages are plain Markdown, so that they read the same in the repository. What a site needs in
# addition is made here: the contents from the lists of links in index.md, and links that leave docs/.
import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

project = "scr-rs"
author = "the authors of scr-rs"
release = re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
version = release

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True
myst_heading_anchors = 4  # the anchors of headings are those of the repository's web view
highlight_language = "none"  # a block that names no language: shell lines, settings, output

html_theme = "furo"
html_title = f"scr-rs {release}"
html_static_path = ["site.css", "found.js"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "search.js")
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_last_updated_fmt = None  # the same pages give the same site

# Files beside docs/ that have a page of the site. Those with a text of their own in docs/ stand for it.
PAGE_OF = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FILE_OF = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}

LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def relink(text, directory, page):
    """Links of a text that lies in `directory`, for the page of that name: those that leave docs/ lead
    to the page of the site with the same content, if there is one. Sphinx offers other files for
    download. A directory, a page outside of docs/ and a file without an ending are only named."""

    from_here = (DOCS / page).parent

    def link(match):
        words, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if "://" in target:
            return match.group(0)
        path = (directory / target).resolve()
        if path.parent == ROOT and path.name in PAGE_OF:
            path = DOCS / PAGE_OF[path.name]
            anchor = "" if path.name == "index.md" else anchor  # other headings than those of the README
        if DOCS in path.parents and path.suffix == ".md":
            return f"[{words}]({os.path.relpath(path, from_here)}{anchor})"
        if path.suffix not in ("", ".md") and path.is_file():
            return f"[{words}]({os.path.relpath(path, from_here)})"
        return words

    return LINK.sub(link, text)


def contents(caption, pages):
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def pages_in(text):
    """The pages that a text links to, each once."""
    return list(dict.fromkeys(match[1] for match in LINK.findall(text) if match[1].endswith(".md")))


# A heading of the questions and answers, and the codes of the messages below it.
ENTRY = re.compile(r"^(### .*\n\n)((?:SCR-\d{3}(?::.*)?\n+)+)", re.M)


def index_codes(text):
    """An entry in the index for each code of a message, since the search leaves out numbers: whoever looks for the
    code finds its entry first."""

    def indexed(match):
        codes = re.findall(r"^SCR-\d{3}", match[2], re.M)
        return "".join(f"```{{index}} single: {code}\n```\n\n" for code in codes) + match[0]

    return ENTRY.sub(indexed, text)


def read(app, page, source):
    text, directory = source[0], (DOCS / page).parent
    if page in FILE_OF:
        text, directory = (ROOT / FILE_OF[page]).read_text(), ROOT
    text = relink(text, directory, page)
    if page == "index":
        sections = re.split(r"^## +(.*)$", text, flags=re.M)[1:]
        named = zip(sections[::2], map(pages_in, sections[1::2]))
        text += "".join(contents(caption, pages) for caption, pages in named if pages)
    elif page == "faq":
        text = index_codes(text)
    elif page == "formats/README":
        text += contents("Files", [name for name in pages_in(text) if "/" not in name])
    source[0] = text


def page_context(app, page, template, context, doctree):
    if page == "search":
        app.add_js_file("found.js")


def setup(app):
    app.connect("source-read", read)
    app.connect("html-page-context", page_context)
    return {"parallel_read_safe": True}
