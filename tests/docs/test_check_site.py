"""The checker of the site finds what it is there to find."""

from docs.check_site import main, problems

HEAD = '<link rel="stylesheet" href="style.css"><script src="a.js"></script>'


def write_site(folder, **pages: str):
    (folder / "deep").mkdir(parents=True)
    for name in ("style.css", "a.js", "p.png"):
        (folder / name).write_text("")
    for name, text in pages.items():
        (folder / f"{name.replace('__', '/')}.html").write_text(text)
    return folder


def test_a_site_that_holds_together(tmp_path, capsys):
    site = write_site(
        tmp_path,
        index=f'{HEAD}<h2 id="a b">A</h2><a href="deep/x.html#top">x</a><a href="#a%20b">a</a>'
        '<a href="https://other.example/">elsewhere</a><a href="deep/">folder</a>',
        deep__x='<p id="top"></p><img src="../p.png"><a href="../index.html#a b">back</a>',
        deep__index="",
    )
    assert problems(site) == []
    assert main(site) == 0 and "nothing is fetched" in capsys.readouterr().out


def test_what_is_wrong_is_found(tmp_path, capsys):
    site = write_site(
        tmp_path,
        index='<a href="gone.html">1</a><a href="deep/x.html#no">2</a><a href="/abs.html">3</a>'
        '<img src="gone.png"><a href="../outside.html">4</a>',
        deep__x='<script src="https://cdn.example/x.js"></script><link rel="stylesheet" '
        'href="//fonts.example/f.css">',
    )
    (tmp_path.parent / "outside.html").write_text("")
    found = problems(site)
    assert [line.partition(": ")[2] for line in found] == [
        "fetches https://cdn.example/x.js",
        "fetches //fonts.example/f.css",
        "gone.html leads nowhere",
        "deep/x.html#no has no such anchor",
        "/abs.html leads nowhere",
        "gone.png leads nowhere",
        "../outside.html leads nowhere",
    ]
    assert main(site) == 1 and "gone.png" in capsys.readouterr().out


def test_an_empty_folder_is_no_site(tmp_path):
    assert problems(tmp_path) == [f"{tmp_path} has no page"]
