# Makes a reference of the C interface from the comments of its headers: a page for each header, and an index.
#
#     awk -v out=DIRECTORY -f tools/reference.awk include/braid/*.h
#
# A page has the introduction of its header, the titles of its parts (// ---- Title ----), and each declaration,
# or declarations that follow each other without a blank line, with the comment (///) above them. Names of
# the interface are links. The directory must exist.

# ---- Reading ----

FNR == 1 {
    end_item()
    page = FILENAME
    sub(/.*\//, "", page)
    sub(/\.h$/, "", page)
    pages[++page_count] = page
    part = "introduction"
    about[page] = substr($0, 4)
}

part == "introduction" && /^\/\// { comment = comment substr($0, 3) "\n"; next }
part == "introduction"            { add("text", comment); comment = ""; part = "declarations" }

# A declaration of several lines, up to its end.
declaration != "" { declare(); next }

/^#ifdef __cplusplus|^#ifndef __cplusplus|^extern "C" \{|^#else|^#endif|^#include|^#if / { end_item(); next }
/^#ifndef BRAID_[A-Z_]*_H$/ || /^#define BRAID_[A-Z_]*_H$/ { next }
/^}$/                    { next }
/^[ \t]*$/               { end_item(); next }
/^\/\/ ---- .* ----$/    { end_item(); title = $0; gsub(/^\/\/ ---- | ----$/, "", title); add("title", title); next }
/^\/\/\//                { if (code != "") end_item(); comment = comment substr($0, 4) "\n"; next }
/^\/\//                  { if (code != "") end_item(); comment = comment substr($0, 3) "\n"; next }
                         { declare() }

# Takes a line of a declaration.
function declare(line) {
    line = $0
    if (declaration == "") {
        depth = 0
        is_macro = line ~ /^#define/
    }
    else declaration = declaration "\n"
    declaration = declaration line
    sub(/[ \t]*\/\/.*$/, "", line)
    if (is_macro) {
        if (line !~ /\\$/) end_declaration()
        return
    }
    depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
    if (depth == 0 && line ~ /;$/) end_declaration()
}

function end_declaration() {
    name_all(declaration)
    if (sub(/^BRAID_API /, "", declaration)) gsub(/\n          /, "\n", declaration)
    code = code declaration "\n"
    declaration = ""
}

# Notes the names that a declaration declares; they are the names of the item.
function name_all(text, lines, n, i, word) {
    if (text ~ /^#define/) {
        word = substr(text, 9)
        sub(/[^A-Za-z0-9_].*$/, "", word)
        name(word)
        return
    }
    n = split(text, lines, "\n")
    if (text ~ /^(typedef )?enum/)
        for (i = 1; i <= n; i++)
            if (match(lines[i], /^    BRAID_[A-Z0-9_]+/)) name(substr(lines[i], 5, RLENGTH - 4))
    if (index(text, "{")) {
        word = lines[n]
        gsub(/[};]|\/\/.*/, "", word)
        gsub(/ /, "", word)
        if (word == "" && match(text, /^struct braid_[a-z0-9_]+/)) word = substr(text, 8, RLENGTH - 7)
        if (word != "") name(word)
    }
    else if (match(text, /\(\*braid_[a-z0-9_]+\)/)) name(substr(text, RSTART + 2, RLENGTH - 3))
    else if (match(text, /braid_[a-z0-9_]+\(/)) name(substr(text, RSTART, RLENGTH - 1))
    else if (match(text, /[A-Za-z0-9_]+;/)) name(substr(text, RSTART, RLENGTH - 1))
}

function name(word) {
    names = names " " word
    if (word in page_of) return
    page_of[word] = page
    all[++name_count] = word
}

function end_item() {
    if (code != "") {
        add("names", names)
        add("code", code)
    }
    if (comment != "") add("text", comment)
    names = code = comment = ""
}

function add(kind, text) {
    kinds[page, ++item_count[page]] = kind
    texts[page, item_count[page]] = text
}

# ---- Writing ----

function escape(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

# Escaped text with a link for each name, but for `not`, of the interface.
function linked(text, not, done, word) {
    text = escape(text)
    done = ""
    while (match(text, /(braid|BRAID)_[A-Za-z0-9_]+/)) {
        word = substr(text, RSTART, RLENGTH)
        done = done substr(text, 1, RSTART - 1)
        if (word in page_of && !index(not " ", " " word " "))
            done = done "<a href=\"" page_of[word] ".html#" word "\">" word "</a>"
        else done = done word
        text = substr(text, RSTART + RLENGTH)
    }
    return done text
}

# A comment: paragraphs, and code where lines begin with four blanks or more.
function paragraphs(text, lines, n, i, kind, now, result) {
    n = split(text, lines, "\n")
    now = ""
    result = ""
    for (i = 1; i <= n; i++) {
        kind = lines[i] ~ /^ ?$/ ? "" : lines[i] ~ /^     / ? "pre" : "p"
        if (kind == "" && now == "pre" && lines[i + 1] ~ /^     /) kind = "pre"
        if (kind != now) {
            if (now != "") result = result "</" now ">\n"
            if (kind != "") result = result "<" kind ">"
            now = kind
        }
        if (kind != "") result = result linked(substr(lines[i], kind == "pre" ? 6 : 2), "") "\n"
    }
    return now == "" ? result : result "</" now ">\n"
}

function head(file, title) {
    print "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>" title "</title>\n<style>\n" \
        "body { max-width: 56em; margin: 2em auto; padding: 0 1em; font: 16px/1.5 sans-serif; }\n" \
        "pre { background: #f4f4f0; padding: .6em; overflow: auto; font-size: 14px; line-height: 1.35; }\n" \
        "h2 { margin-top: 2em; border-bottom: 1px solid #ccc; }\n" \
        "a { color: #005a8c; text-decoration: none; }\ntd { vertical-align: top; padding-right: 1em; }\n" \
        "</style>" >file
}

function anchors(text, words, n, i, result) {
    n = split(text, words, " ")
    result = ""
    for (i = 1; i <= n; i++)
        if (page_of[words[i]] == current && !(words[i] in anchored)) {
            result = result "<a id=\"" words[i] "\"></a>"
            anchored[words[i]]
        }
    return result
}

function write_page(page, file, i, kind, text, own) {
    current = page
    file = out "/" page ".html"
    head(file, "braid/" page ".h")
    print "<p><a href=\"index.html\">Reference</a></p>\n<h1>braid/" page ".h</h1>" >file
    for (i = 1; i <= item_count[page]; i++) {
        kind = kinds[page, i]
        text = texts[page, i]
        if (kind == "title") print "<h2>" escape(text) "</h2>" >file
        else if (kind == "names") { own = text; printf "%s", anchors(text) >file }
        else if (kind == "code") printf "<pre>%s</pre>\n", linked(text, own) >file
        else printf "%s", paragraphs(text) >file
    }
    close(file)
}

function write_index(file, i, j, word) {
    file = out "/index.html"
    head(file, "Braid's C interface")
    print "<h1>Braid's C interface</h1>\n<h2>Headers</h2>\n<table>" >file
    for (i = 1; i <= page_count; i++)
        print "<tr><td><a href=\"" pages[i] ".html\">" pages[i] ".h</a><td>" escape(about[pages[i]]) >file
    print "</table>\n<h2>Names</h2>\n<p>" >file
    for (i = 2; i <= name_count; i++) { # by name
        word = all[i]
        for (j = i - 1; j >= 1 && tolower(all[j]) > tolower(word); j--) all[j + 1] = all[j]
        all[j + 1] = word
    }
    for (i = 1; i <= name_count; i++)
        print "<a href=\"" page_of[all[i]] ".html#" all[i] "\">" all[i] "</a>" (i < name_count ? "," : "") >file
    print "</p>" >file
    close(file)
}

END {
    end_item()
    for (i = 1; i <= page_count; i++) write_page(pages[i])
    write_index()
    print page_count " pages, " name_count " names: " out "/index.html"
}
