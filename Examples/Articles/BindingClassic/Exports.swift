// One import suffices for an article's code: its names are here, all others in the core. A file that imports both
// modules itself finds `Observable`, `State` and `Binding` in each and has to qualify them.
@_exported import BindingModel
