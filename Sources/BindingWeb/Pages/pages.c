#include "CPages.h"

// The pages are part of the program: a gateway serves them wherever it runs, without files beside it. `#embed` is of
// C23; the package's other C is older. A file that is added to the folder is entered twice here.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif

static const unsigned char bind_d_ts[] = {
#embed "pages/bind.d.ts"
};
static const unsigned char bind_js[] = {
#embed "pages/bind.js"
};
static const unsigned char bind_mjs[] = {
#embed "pages/bind.mjs"
};
static const unsigned char buttons_js[] = {
#embed "pages/buttons.js"
};
static const unsigned char conflicts_js[] = {
#embed "pages/conflicts.js"
};
static const unsigned char dashboard_commits_js[] = {
#embed "pages/dashboard-commits.js"
};
static const unsigned char dashboard_edit_js[] = {
#embed "pages/dashboard-edit.js"
};
static const unsigned char dashboard_history_js[] = {
#embed "pages/dashboard-history.js"
};
static const unsigned char dashboard_hub_js[] = {
#embed "pages/dashboard-hub.js"
};
static const unsigned char dashboard_log_js[] = {
#embed "pages/dashboard-log.js"
};
static const unsigned char dashboard_revert_js[] = {
#embed "pages/dashboard-revert.js"
};
static const unsigned char dashboard_model_js[] = {
#embed "pages/dashboard-model.js"
};
static const unsigned char dashboard_past_js[] = {
#embed "pages/dashboard-past.js"
};
static const unsigned char dashboard_rows_js[] = {
#embed "pages/dashboard-rows.js"
};
static const unsigned char dashboard_tree_js[] = {
#embed "pages/dashboard-tree.js"
};
static const unsigned char dashboard_html[] = {
#embed "pages/dashboard.html"
};
static const unsigned char dashboard_js[] = {
#embed "pages/dashboard.js"
};
static const unsigned char demo_html[] = {
#embed "pages/demo.html"
};
static const unsigned char demo_js[] = {
#embed "pages/demo.js"
};
static const unsigned char descriptions_js[] = {
#embed "pages/descriptions.js"
};
static const unsigned char drafts_js[] = {
#embed "pages/drafts.js"
};
static const unsigned char each_js[] = {
#embed "pages/each.js"
};
static const unsigned char element_steps_js[] = {
#embed "pages/element-steps.js"
};
static const unsigned char elements_js[] = {
#embed "pages/elements.js"
};
static const unsigned char fields_js[] = {
#embed "pages/fields.js"
};
static const unsigned char form_html[] = {
#embed "pages/form.html"
};
static const unsigned char form_js[] = {
#embed "pages/form.js"
};
static const unsigned char frames_js[] = {
#embed "pages/frames.js"
};
static const unsigned char icon_svg[] = {
#embed "pages/icon.svg"
};
static const unsigned char keep_js[] = {
#embed "pages/keep.js"
};
static const unsigned char kept_models_js[] = {
#embed "pages/kept-models.js"
};
static const unsigned char kept_pages_js[] = {
#embed "pages/kept-pages.js"
};
static const unsigned char kept_store_js[] = {
#embed "pages/kept-store.js"
};
static const unsigned char list_steps_js[] = {
#embed "pages/list-steps.js"
};
static const unsigned char list_values_js[] = {
#embed "pages/list-values.js"
};
static const unsigned char lists_js[] = {
#embed "pages/lists.js"
};
static const unsigned char page_css[] = {
#embed "pages/page.css"
};
static const unsigned char past_js[] = {
#embed "pages/past.js"
};
static const unsigned char plot_js[] = {
#embed "pages/plot.js"
};
static const unsigned char replicas_js[] = {
#embed "pages/replicas.js"
};
static const unsigned char sha256_js[] = {
#embed "pages/sha256.js"
};
static const unsigned char step_js[] = {
#embed "pages/step.js"
};
static const unsigned char steps_js[] = {
#embed "pages/steps.js"
};
static const unsigned char steps_back_js[] = {
#embed "pages/steps-back.js"
};
static const unsigned char table_all_js[] = {
#embed "pages/table-all.js"
};
static const unsigned char table_csv_js[] = {
#embed "pages/table-csv.js"
};
static const unsigned char table_grid_js[] = {
#embed "pages/table-grid.js"
};
static const unsigned char table_html[] = {
#embed "pages/table.html"
};
static const unsigned char table_js[] = {
#embed "pages/table.js"
};
static const unsigned char texts_js[] = {
#embed "pages/texts.js"
};
static const unsigned char undo_js[] = {
#embed "pages/undo.js"
};
static const unsigned char undoing_js[] = {
#embed "pages/undoing.js"
};
static const unsigned char updates_js[] = {
#embed "pages/updates.js"
};
static const unsigned char values_js[] = {
#embed "pages/values.js"
};
static const unsigned char words_js[] = {
#embed "pages/words.js"
};
static const unsigned char worker_js[] = {
#embed "pages/worker.js"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof bytes}

static const cpages_file files[] = {
    FILE_OF("bind.d.ts", bind_d_ts),
    FILE_OF("bind.js", bind_js),
    FILE_OF("bind.mjs", bind_mjs),
    FILE_OF("buttons.js", buttons_js),
    FILE_OF("conflicts.js", conflicts_js),
    FILE_OF("dashboard-commits.js", dashboard_commits_js),
    FILE_OF("dashboard-edit.js", dashboard_edit_js),
    FILE_OF("dashboard-history.js", dashboard_history_js),
    FILE_OF("dashboard-hub.js", dashboard_hub_js),
    FILE_OF("dashboard-log.js", dashboard_log_js),
    FILE_OF("dashboard-model.js", dashboard_model_js),
    FILE_OF("dashboard-past.js", dashboard_past_js),
    FILE_OF("dashboard-revert.js", dashboard_revert_js),
    FILE_OF("dashboard-rows.js", dashboard_rows_js),
    FILE_OF("dashboard-tree.js", dashboard_tree_js),
    FILE_OF("dashboard.html", dashboard_html),
    FILE_OF("dashboard.js", dashboard_js),
    FILE_OF("demo.html", demo_html),
    FILE_OF("demo.js", demo_js),
    FILE_OF("descriptions.js", descriptions_js),
    FILE_OF("drafts.js", drafts_js),
    FILE_OF("each.js", each_js),
    FILE_OF("element-steps.js", element_steps_js),
    FILE_OF("elements.js", elements_js),
    FILE_OF("fields.js", fields_js),
    FILE_OF("form.html", form_html),
    FILE_OF("form.js", form_js),
    FILE_OF("frames.js", frames_js),
    FILE_OF("icon.svg", icon_svg),
    FILE_OF("keep.js", keep_js),
    FILE_OF("kept-models.js", kept_models_js),
    FILE_OF("kept-pages.js", kept_pages_js),
    FILE_OF("kept-store.js", kept_store_js),
    FILE_OF("list-steps.js", list_steps_js),
    FILE_OF("list-values.js", list_values_js),
    FILE_OF("lists.js", lists_js),
    FILE_OF("page.css", page_css),
    FILE_OF("past.js", past_js),
    FILE_OF("plot.js", plot_js),
    FILE_OF("replicas.js", replicas_js),
    FILE_OF("sha256.js", sha256_js),
    FILE_OF("step.js", step_js),
    FILE_OF("steps.js", steps_js),
    FILE_OF("steps-back.js", steps_back_js),
    FILE_OF("table-all.js", table_all_js),
    FILE_OF("table-csv.js", table_csv_js),
    FILE_OF("table-grid.js", table_grid_js),
    FILE_OF("table.html", table_html),
    FILE_OF("table.js", table_js),
    FILE_OF("texts.js", texts_js),
    FILE_OF("undo.js", undo_js),
    FILE_OF("undoing.js", undoing_js),
    FILE_OF("updates.js", updates_js),
    FILE_OF("values.js", values_js),
    FILE_OF("words.js", words_js),
    FILE_OF("worker.js", worker_js),
};

size_t cpages_count(void) { return sizeof files / sizeof files[0]; }

const cpages_file *cpages_at(size_t number) { return number < cpages_count() ? &files[number] : NULL; }
