// `import Bindbus` exports the types that an application needs, one by one, without the state machines behind them.
// Type aliases would not work: under `MemberImportVisibility`, members of an aliased type are not found.

// Binding inside one process.
@_exported import struct BindingModel.Binding
@_exported import struct BindingModel.BindingError
@_exported import class BindingModel.Derived
@_exported import struct BindingModel.Lane
@_exported import protocol BindingModel.Mapping
@_exported import struct BindingModel.NumberText
@_exported import class BindingModel.Observable
@_exported import class BindingModel.ObserverToken
@_exported import class BindingModel.ObserverTokens
@_exported import struct BindingModel.Pace
@_exported import struct BindingModel.Placeholder
@_exported import struct BindingModel.ReadOnly
@_exported import struct BindingModel.State
@_exported import struct BindingModel.Stepped
@_exported import enum BindingModel.Turn
@_exported import class BindingModel.Validated
@_exported import class BindingModel.ValidatedForm
@_exported import protocol BindingModel.ValueSource
@_exported import struct BindingModel.Values
@_exported import struct BindingModel.Writer
// Models shared by several processes.
@_exported import struct BindingPeer.ConflictPolicy
@_exported import struct BindingPeer.Field
@_exported import protocol BindingPeer.FieldCodable
@_exported import enum BindingPeer.FieldStatus
@_exported import struct BindingPeer.HubLocation
@_exported import protocol BindingPeer.Model
@_exported import struct BindingPeer.ModelChange
@_exported import class BindingPeer.ModelCollection
@_exported import struct BindingPeer.ModelStatus
@_exported import enum BindingPeer.OutboxStorage
@_exported import class BindingPeer.Ownership
@_exported import class BindingPeer.Peer
@_exported import enum BindingPeer.PeerError
@_exported import struct BindingPeer.PeerStatus
@_exported import class BindingPeer.PendingWrite
@_exported import class BindingPeer.Presence
@_exported import struct BindingPeer.PresentPeer
@_exported import struct BindingPeer.RefusalError
@_exported import enum BindingPeer.ShareError
@_exported import struct BindingPeer.SharedField
@_exported import class BindingPeer.SharedModel
@_exported import enum BindingPeer.WriteError
// Their values.
@_exported import struct BindingProtocol.FieldValue
@_exported import enum BindingProtocol.JSON
@_exported import enum BindingProtocol.Outcome
