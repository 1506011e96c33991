// Whoever binds to shared models speaks of values, versions and outcomes, and composes bindings: one import is enough
// for that.
@_exported import BindingModel
@_exported import BindingProtocol
