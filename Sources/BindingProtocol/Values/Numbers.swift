/// The number of a commit in its model: previous + 1. 0 is the empty model.
public typealias Version = UInt64
/// One unbroken history of a log. 0 stands for "none".
public typealias Epoch = UInt64
/// A hub's number for a model, valid for one run of the hub. See `Topics`.
@usableFromInline package typealias Topic = UInt32
/// A hub's number for a field of one model, counting up from 0, valid for one run of the hub.
@usableFromInline package typealias FieldID = UInt32
/// The number of a proposal of one identity in one model: 1, 2, 3 …
public typealias ProposalNumber = UInt32
/// Four random bytes (not 0) that distinguish one run of a hub from another.
public typealias StartNumber = UInt32
/// Eight random bytes (not 0) that a peer chooses for each hello.
@usableFromInline package typealias SessionID = UInt64
/// Identifies a log; chosen when its store is made.
public typealias LogID = UInt64
