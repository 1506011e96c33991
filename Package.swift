// swift-tools-version: 6.2
import PackageDescription

/// Compiler settings that every target shares. `BINDBUS_STRICT` is set by the test scripts: there a warning is an
/// error, while a user who builds with a newer compiler is not stopped by a diagnostic that did not exist when this was
/// written.
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
  ] + (Context.environment["BINDBUS_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

/// What is built with no trait named. `BINDBUS_ETCD` adds the log in etcd: the tests set it where libnghttp2 is
/// installed, so that all their steps share one build.
let usualTraits: Set<String> = Context.environment["BINDBUS_ETCD"] == nil ? ["WebTLS"] : ["WebTLS", "Etcd"]

let package = Package(
  name: "bindbus",
  platforms: [.macOS(.v14)],
  products: [
    .library(name: "Bindbus", targets: ["Bindbus"]),
    .library(name: "BindbusTesting", targets: ["BindbusTesting"]),
    .library(name: "BindingModel", targets: ["BindingModel"]),
    .library(name: "BindingControls", targets: ["BindingControls"]),
    .library(name: "BindingPeer", targets: ["BindingPeer"]),
    .library(name: "BindingHub", targets: ["BindingHub"]),
    .library(name: "BindingStore", targets: ["BindingStore"]),
    .library(name: "BindingWeb", targets: ["BindingWeb"]),
    .executable(name: "bindhub", targets: ["bindhub"]),
    .executable(name: "bindpeer", targets: ["bindpeer"]),
    .executable(name: "bindbridge", targets: ["bindbridge"]),
  ],
  traits: [
    .trait(name: "Etcd", description: "A log that several hubs share in etcd. It needs libnghttp2 with its header."),
    .trait(name: "WebTLS", description: "Pages over https by the gateway itself. It builds BoringSSL."),
    .default(enabledTraits: usualTraits),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .systemLibrary(name: "CZMQ", providers: [.apt(["libzmq3-dev"]), .brew(["zeromq"])]),
    // `dlsym` lay in a library of its own before glibc 2.34.
    .target(name: "CZMQGuard", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(name: "ZeroMQ", dependencies: ["CZMQ", "CZMQGuard"], swiftSettings: strict),
    .target(name: "CBindingModel"),
    .target(name: "BindingModel", dependencies: ["CBindingModel"], swiftSettings: strict),
    .target(name: "BindingControls", dependencies: ["BindingModel"], swiftSettings: strict),
    .target(name: "BindingProtocol", swiftSettings: strict),
    // Who may connect from another machine: keys, members, invitations.
    .target(name: "BindingKeys", dependencies: ["BindingProtocol", "ZeroMQ"], swiftSettings: strict),
    .target(
      name: "BindingPeer",
      dependencies: [
        "BindingKeys", "BindingModel", "BindingProtocol", "ZeroMQ", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    // What an application imports: the types that it needs, by their names.
    .target(name: "Bindbus", dependencies: ["BindingModel", "BindingPeer", "BindingProtocol"], swiftSettings: strict),
    .target(
      name: "BindingHub",
      dependencies: ["BindingKeys", "BindingProtocol", "ZeroMQ", .product(name: "Logging", package: "swift-log")],
      swiftSettings: strict),
    // What the tests of an application use.
    .target(
      name: "BindbusTesting", dependencies: ["BindingHub", "BindingModel", "BindingProtocol"], swiftSettings: strict),
    .target(
      name: "BindingStore",
      dependencies: [
        "BindingHub", "BindingProtocol", "ZeroMQ", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], swiftSettings: strict),
    .systemLibrary(name: "CNGHTTP2", providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),
    // Without the trait it is nearly empty, and none of what it needs is resolved or built for it.
    .target(
      name: "BindingEtcd",
      dependencies: [
        "BindingHub", "BindingProtocol", .target(name: "CNGHTTP2", condition: .when(traits: ["Etcd"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Etcd"])),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Etcd"])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Etcd"])),
      ], swiftSettings: strict),
    .target(name: "CPages", path: "Sources/BindingWeb/Pages", exclude: ["pages"]),
    .target(
      name: "BindingWeb",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "CPages",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["WebTLS"])),
      ],
      exclude: ["Pages"],
      swiftSettings: strict),
    // An edge's side towards its upstream hub.
    .target(
      name: "BindingEdge",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "ZeroMQ",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "BindingTerminal",
      dependencies: [
        "BindingModel", "BindingProtocol", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),
    .executableTarget(
      name: "bindhub",
      dependencies: [
        "BindingEdge", "BindingEtcd", "BindingHub", "BindingKeys", "BindingPeer", "BindingStore", "BindingTerminal",
        "BindingWeb", "BindingProtocol", "ZeroMQ", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .executableTarget(
      name: "bindpeer",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingPeer", "BindingTerminal", "ZeroMQ",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    // Models in the languages of other systems.
    .target(
      name: "BindingBridge",
      dependencies: [
        "BindingModel", "BindingPeer", "BindingProtocol", .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["WebTLS"])),
      ], swiftSettings: strict),
    .executableTarget(
      name: "bindbridge",
      dependencies: [
        "BindingBridge", "BindingPeer", "BindingTerminal", "ZeroMQ",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    // An example, and what the articles called things: in this package, since tests and the demo stand on them.
    .executableTarget(
      name: "vitals",
      dependencies: [
        "BindingPeer", "BindingTerminal", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Examples/vitals",
      swiftSettings: strict),
    .target(
      name: "BindingClassic", dependencies: ["BindingModel"], path: "Examples/Articles/BindingClassic",
      swiftSettings: strict),
    .target(name: "CStoreDisk", path: "Tests/Support/CStoreDisk"),
    // What every store that several hubs share must do, for the tests of each.
    .target(
      name: "StoreContract", dependencies: ["BindingHub", "BindingProtocol"], path: "Tests/Support/StoreContract",
      swiftSettings: strict),
    // Nodes of etcd, for the tests that start them.
    .target(name: "EtcdServer", path: "Tests/Support/EtcdServer", swiftSettings: strict),
    .target(
      name: "Simulation", dependencies: ["BindingEdge", "BindingPeer", "BindingHub", "BindingProtocol"],
      path: "Tests/Simulation", exclude: ["bindsim"], swiftSettings: strict),
    .executableTarget(
      name: "bindsim",
      dependencies: ["Simulation", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      path: "Tests/Simulation/bindsim",
      swiftSettings: strict),
    .executableTarget(
      name: "bindlab",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingModel", "BindingPeer", "BindingProtocol", "BindingStore", "Simulation",
        "ZeroMQ", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Faults/bindlab",
      swiftSettings: strict),
    // The hub against bare sockets: it needs what is no product.
    .executableTarget(
      name: "bindbench",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingStore", "ZeroMQ",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"), .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Bench",
      swiftSettings: strict),
    .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ"], swiftSettings: strict),
    .testTarget(name: "BindingModelTests", dependencies: ["BindingModel"], swiftSettings: strict),
    .testTarget(
      name: "BindingControlsTests", dependencies: ["BindingControls", "BindingModel"], swiftSettings: strict),
    .testTarget(
      name: "BindingClassicTests", dependencies: ["BindingClassic", "BindingControls", "BindingModel"],
      path: "Examples/Articles/BindingClassicTests", swiftSettings: strict),
    .testTarget(name: "BindingProtocolTests", dependencies: ["BindingProtocol"], swiftSettings: strict),
    .testTarget(
      name: "BindingKeysTests", dependencies: ["BindingKeys", "BindingProtocol", "ZeroMQ"], swiftSettings: strict),
    .testTarget(
      name: "BindingHubTests",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingStore", "BindingProtocol", "StoreContract", "ZeroMQ",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .testTarget(
      name: "BindingStoreTests",
      dependencies: [
        "BindingHub", "BindingStore", "BindingProtocol", "CStoreDisk", .product(name: "GRDB", package: "GRDB.swift"),
      ], swiftSettings: strict),
    // Empty without the trait. With it, the tests start etcd.
    .testTarget(
      name: "BindingEtcdTests",
      dependencies: [
        "BindingEtcd", "BindingHub", "BindingProtocol", "EtcdServer", "StoreContract",
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Etcd"])),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Etcd"])),
      ],
      exclude: ["run"],
      swiftSettings: strict),
    .testTarget(
      name: "BindingWebTests",
      dependencies: [
        "BindingHub", "BindingKeys", "BindingPeer", "BindingWeb", "BindingProtocol",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["WebTLS"])),
      ],
      exclude: ["Certificates"],
      swiftSettings: strict),
    .testTarget(
      name: "BindingEdgeTests",
      dependencies: ["BindingEdge", "BindingHub", "BindingPeer", "BindingProtocol", "Simulation"],
      swiftSettings: strict),
    .testTarget(
      name: "BindingBridgeTests", dependencies: ["BindingBridge", "BindingPeer", "BindingProtocol", "Simulation"],
      swiftSettings: strict),
    .testTarget(name: "BindbusTestingTests", dependencies: ["Bindbus", "BindbusTesting"], swiftSettings: strict),
    // Replays what the fuzzer has found. `BINDBUS_PART=fuzz` makes a library of the same targets for it.
    .testTarget(
      name: "FuzzTests",
      dependencies: ["BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingWeb", "ZeroMQ"],
      path: "Tests/Fuzz", exclude: ["Driver", "corpus", "run"], swiftSettings: strict),
    .testTarget(name: "SimulationTests", dependencies: ["BindingProtocol", "Simulation"], swiftSettings: strict),
    .testTarget(name: "HistoryTests", dependencies: ["BindingProtocol", "Simulation"], swiftSettings: strict),
    .testTarget(
      name: "BindingPeerTests",
      dependencies: [
        "BindbusTesting", "BindingControls", "BindingPeer", "BindingHub", "BindingKeys", "BindingModel",
        "BindingProtocol", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .testTarget(
      name: "BindPeerCommandTests",
      dependencies: ["BindbusTesting", "BindingHub", "BindingPeer", "BindingTerminal", "BindingProtocol", "bindpeer"],
      exclude: ["QRVectors"], swiftSettings: strict),
    .testTarget(
      name: "BindHubCommandTests",
      dependencies: [
        "BindingProtocol", "BindingTerminal", "bindhub",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: strict),
    .testTarget(
      name: "ProcessTests",
      dependencies: [
        "BindbusTesting", "BindingBridge", "EtcdServer", "BindingHub", "BindingPeer", "BindingProtocol", "ZeroMQ",
        .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ], swiftSettings: strict),
  ]
)

// Binding inside one process alone, without libzmq, SQLite and NIO: what the thread sanitizer is built for, whose whole
// build would take longer than its tests. The dependencies stay, so that what was resolved for the whole stays too.
if Context.environment["BINDBUS_PART"] == "model" {
  let names: Set = ["CBindingModel", "BindingModel", "BindingControls", "BindingClassic"]
  package.products.removeAll { !names.contains($0.name) }
  package.targets.removeAll { !names.contains($0.name) && !names.contains(String($0.name.dropLast("Tests".count))) }
}

// The readers that the fuzzer drives, instrumented, as one library that `Tests/Fuzz/run` links with libFuzzer.
if Context.environment["BINDBUS_PART"] == "fuzz" {
  let instrumented: Set = ["BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingWeb"]
  package.targets.removeAll { $0.type == .test || $0.type == .executable }
  package.targets.append(
    .target(
      name: "FuzzTargets",
      dependencies: ["BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingWeb", "ZeroMQ"],
      path: "Tests/Fuzz/Targets", swiftSettings: strict))
  package.products = [.library(name: "FuzzTargets", type: .static, targets: ["FuzzTargets"])]
  for target in package.targets where instrumented.contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
  }
}
