// swift-tools-version: 6.2
import PackageDescription

/// Where RxSwift and ReactiveKit lie, in folders of these names, for who wants to measure against them too; nobody
/// else resolves or builds them.
let others = Context.environment["BINDBUS_BENCH_LIBRARIES"]

/// A package of its own, so that nobody who uses Bindbus resolves or builds it.
let package = Package(
  name: "bindbus-benchmarks",
  platforms: [.macOS(.v14)],
  dependencies: [
    .package(name: "bindbus", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ] + (others.map { [.package(path: "\($0)/RxSwift"), .package(path: "\($0)/ReactiveKit")] } ?? []),
  targets: [
    .target(name: "CAllocations"),
    .executableTarget(
      name: "modelbench",
      dependencies: [
        "CAllocations",
        .product(name: "BindingModel", package: "bindbus"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]
        + (others == nil
          ? []
          : [
            .product(name: "RxSwift", package: "RxSwift"), .product(name: "RxRelay", package: "RxSwift"),
            .product(name: "ReactiveKit", package: "ReactiveKit"),
          ])),
  ]
)
