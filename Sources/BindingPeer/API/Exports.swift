// Programs that bind to shared models use values, versions and outcomes, and compose bindings: one import gives them
// all.
@_exported import BindingModel
@_exported import BindingProtocol
