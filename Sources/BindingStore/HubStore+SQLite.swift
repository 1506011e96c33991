public import BindingHub
public import BindingProtocol

extension HubStore {
  /// A store in one SQLite file (`docs/reference/store-format.md`), which is made if it is not there. One hub at a time
  /// has it; `Hub.start` throws `HubError.store` if it cannot be opened.
  /// ```swift
  /// var configuration = Hub.Configuration()
  /// configuration.store = .sqlite(at: "/var/lib/shop/hub.store")
  /// ```
  /// - Parameters:
  ///   - path: of the file, in a folder that exists. SQLite keeps files of its own beside it.
  ///   - durability: `.disk` keeps what is acknowledged through a loss of power, `.process` through the end of the
  ///     process. `.memory` means `.process` here.
  ///   - limits: how much history is kept, and how the file is looked after.
  public static func sqlite(
    at path: String, durability: Durability = .disk, limits: StoreLimits = StoreLimits()
  ) -> HubStore {
    let grade: Durability = durability == .disk ? .disk : .process
    return HubStore { () throws(StoreError) in try SQLiteStore.open(path: path, durability: grade, limits: limits) }
  }
}
