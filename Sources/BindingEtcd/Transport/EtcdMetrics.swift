#if Etcd
  import BindingHub
  import Foundation
  import NIOCore
  import NIOPosix

  /// What a node tells at `/metrics`.
  struct EtcdMetrics: Sendable {
    /// Its version; nil: not told.
    var version: EtcdVersion?
    /// How often it synced its log of proposals; nil: not told.
    var syncs: UInt64?
    /// The bytes that its data may have; nil: not told.
    var quota: UInt64?

    /// Reads the text of the metrics.
    init(_ text: String) {
      for line in text.split(separator: "\n") {
        if line.hasPrefix("etcd_server_version{") {
          version = line.split(separator: "\"").dropFirst().first.flatMap { EtcdVersion(String($0)) } ?? version
        } else if line.hasPrefix("etcd_disk_wal_fsync_duration_seconds_count ") {
          syncs = EtcdMetrics.number(line)
        } else if line.hasPrefix("etcd_server_quota_backend_bytes ") {
          quota = EtcdMetrics.number(line)
        }
      }
    }

    private static func number(_ line: Substring) -> UInt64? {
      line.split(separator: " ").last.flatMap { Double($0) }.map { UInt64(max(0, min($0, 1e18))) }
    }
  }

  /// Reads the metrics of nodes, each over a connection of its own.
  struct EtcdMetricsReader: Sendable {
    private let loop: any EventLoop
    private let tls: EtcdTLS?
    private let timeout = TimeAmount.seconds(2)

    init(loop: any EventLoop, _ options: EtcdOptions) throws(StoreError) {
      self.loop = loop
      tls = try EtcdTLS(options, protocols: [])
    }

    /// Reads the metrics of the node with this client URL. Blocks; not to be called on the loop.
    func read(_ url: String) -> Result<EtcdMetrics, EtcdAddress.ParseError> {
      let isEncrypted = url.hasPrefix("https://")
      let place = url.drop { $0 != "/" }.drop { $0 == "/" }
      do {
        let address = try EtcdAddress("etcd://\(place)")
        let text = try fetch(address.endpoints[0], isEncrypted: isEncrypted).wait()
        guard let end = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1"),
          text.split(separator: " ").dropFirst().first == "200"
        else { return .failure(.init(description: "\(url)/metrics cannot be read")) }
        return .success(EtcdMetrics(String(text[end.upperBound...])))
      } catch {
        return .failure(.init(description: "\(url)/metrics cannot be read: \(EtcdTLS.text(of: error))"))
      }
    }

    private func fetch(_ endpoint: EtcdEndpoint, isEncrypted: Bool) throws -> EventLoopFuture<String> {
      let promise = loop.makePromise(of: String.self)
      let tls = isEncrypted ? tls : nil
      let request = "GET /metrics HTTP/1.0\r\nHost: \(endpoint)\r\n\r\n"
      ClientBootstrap(group: loop).connectTimeout(timeout)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let tls { try pipeline.addHandler(try tls.handler(for: endpoint.host)) }
            try pipeline.addHandler(MetricsResponse(request, promise))
          }
        }
        .connect(host: endpoint.host, port: endpoint.port)
        .whenFailure { promise.fail($0) }
      return promise.futureResult
    }
  }

  /// Collects a response until its end.
  private final class MetricsResponse: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private static let maxBytes = 8 << 20
    private let request: String
    private let promise: EventLoopPromise<String>
    private var bytes: [UInt8] = []

    init(_ request: String, _ promise: EventLoopPromise<String>) { (self.request, self.promise) = (request, promise) }

    func channelActive(context: ChannelHandlerContext) {
      context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: request)), promise: nil)
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: .seconds(2)) { bound.value.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes += unwrapInboundIn(data).readableBytesView
      if bytes.count > MetricsResponse.maxBytes { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { promise.succeed(String(decoding: bytes, as: UTF8.self)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      promise.fail(error)
      context.close(promise: nil)
    }
  }
#endif
