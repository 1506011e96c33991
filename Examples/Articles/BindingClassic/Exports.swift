// One import is enough for an article's code: its names here, all else from the core. A file that imports both modules
// by itself finds `Observable`, `State` and `Binding` in each, and has to say whose it means.
@_exported import BindingModel
