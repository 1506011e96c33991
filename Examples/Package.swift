// swift-tools-version: 6.2
import PackageDescription

/// The settings of Bindbus itself.
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
  ] + (Context.environment["BINDBUS_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let names = ["three-fields", "controls", "survey", "story", "article"]

/// A separate package, so that users of Bindbus do not build it.
let package = Package(
  name: "bindbus-examples",
  platforms: [.macOS(.v14)],
  products: names.map { .executable(name: $0, targets: [$0]) },
  dependencies: [
    .package(name: "bindbus", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .target(
      name: "Screens",
      dependencies: [
        .product(name: "BindingControls", package: "bindbus"),
        .product(name: "BindingHub", package: "bindbus"),
        .product(name: "BindingPeer", package: "bindbus"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict)
  ]
    + names.map { name in
      .executableTarget(
        name: name,
        dependencies: [
          "Screens",
          .product(name: "BindingControls", package: "bindbus"),
          .product(name: "BindingModel", package: "bindbus"),
          .product(name: "BindingPeer", package: "bindbus"),
          .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ],
        swiftSettings: strict)
    }
)
