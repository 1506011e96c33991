#include "CPages.h"

// The pages are part of the program: a gateway serves them wherever it runs, without files beside it. `#embed` is of
// C23; the package's other C is older.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif

static const unsigned char dashboard_html[] = {
#embed "pages/dashboard.html"
};
static const unsigned char form_html[] = {
#embed "pages/form.html"
};
static const unsigned char demo_html[] = {
#embed "pages/demo.html"
};
static const unsigned char bind_js[] = {
#embed "pages/bind.js"
};
static const unsigned char page_css[] = {
#embed "pages/page.css"
};
static const unsigned char dashboard_js[] = {
#embed "pages/dashboard.js"
};
static const unsigned char form_js[] = {
#embed "pages/form.js"
};
static const unsigned char demo_js[] = {
#embed "pages/demo.js"
};
static const unsigned char icon_svg[] = {
#embed "pages/icon.svg"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof bytes}

static const cpages_file files[] = {
    FILE_OF("dashboard.html", dashboard_html), FILE_OF("form.html", form_html), FILE_OF("demo.html", demo_html),
    FILE_OF("bind.js", bind_js),               FILE_OF("page.css", page_css),   FILE_OF("dashboard.js", dashboard_js),
    FILE_OF("form.js", form_js),               FILE_OF("demo.js", demo_js),     FILE_OF("icon.svg", icon_svg),
};

size_t cpages_count(void) { return sizeof files / sizeof files[0]; }

const cpages_file *cpages_at(size_t number) { return number < cpages_count() ? &files[number] : NULL; }
