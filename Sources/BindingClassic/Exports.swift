// One import is enough for an article's code: its names here, all else from the core.
@_exported import BindingModel
