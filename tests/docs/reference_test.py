# The reference that `./dev reference` makes has each function, each comment and each link of the headers.

import glob
import html
import os
import re
import subprocess
import sys
import tempfile
import unittest

HEADERS = sorted(glob.glob("include/braid/*.h"))


def words(text):
    return " ".join(text.split())


class ReferenceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        out = cls.dir.name
        subprocess.run(["awk", "-v", f"out={out}", "-f", "tools/reference.awk", *HEADERS], check=True)
        cls.pages = {}
        for path in glob.glob(f"{out}/*.html"):
            with open(path, encoding="utf-8") as file:
                cls.pages[os.path.basename(path)] = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def page_of(self, header):
        return self.pages[os.path.basename(header)[:-2] + ".html"]

    def test_each_header_has_a_page(self):
        self.assertGreater(len(HEADERS), 50)
        self.assertEqual(len(self.pages), len(HEADERS) + 1)  # and the index

    def test_each_name_has_one_place(self):
        for header in HEADERS:
            with open(header, encoding="utf-8") as file:
                text = file.read()
            code = re.sub(r"//.*", "", text)
            declared = re.findall(r"BRAID_API [^;({]*?(braid_\w+)\(", code)
            declared += re.findall(r"^\} (braid_\w+);", code, re.M)
            declared += re.findall(r"^typedef [^;]*?\(\*(braid_\w+)\)", code, re.M)
            declared += re.findall(r"^typedef struct braid_\w+ (braid_\w+);", code, re.M)
            declared += [
                name for name in re.findall(r"^#define (\w+)", code, re.M) if not name.endswith("_H")
            ]
            declared += re.findall(r"^    (BRAID_\w+)(?: = [^,\n]*)?,?\s*$", code, re.M)
            ids = re.findall(r'<a id="(\w+)"></a>', self.page_of(header))
            self.assertEqual(len(ids), len(set(ids)), header)
            self.assertEqual(set(declared) - set(ids), set(), header)

    def test_the_index_has_each_name(self):
        links = set(re.findall(r'href="(\w+\.html#\w+)"', self.pages["index.html"]))
        for name, page in self.pages.items():
            places = {f"{name}#{place}" for place in re.findall(r'<a id="(\w+)"', page)}
            self.assertEqual(places - links, set())

    def test_each_link_leads_somewhere(self):
        for name, page in self.pages.items():
            for target, place in re.findall(r'href="([^"#]*)#?([^"]*)"', page):
                self.assertIn(target, self.pages, name)
                if place:
                    self.assertIn(f'<a id="{place}"></a>', self.pages[target], name)

    def test_each_comment_is_there(self):
        for header in HEADERS:
            shown = words(html.unescape(re.sub(r"<[^>]*>", " ", self.page_of(header))))
            compact = shown.replace(" ", "")
            with open(header, encoding="utf-8") as file:
                comments = re.findall(r"^//+ (?!----)(.*)$", file.read(), re.M)
            for comment in comments:
                self.assertIn(words(comment).replace(" ", ""), compact, header)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])  # the directory of programs is not used
