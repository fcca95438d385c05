# A Tributary broker. Build: docker build -t tributary . It runs as an unprivileged user and keeps its data in
# /var/lib/tributary. Settings are TRIBUTARY_* variables or flags: docker run --rm tributary --help

FROM node:20-bookworm-slim AS build
WORKDIR /build
# Manifests first: what is installed is cached until one of them changes.
COPY package.json package-lock.json ./
COPY packages/broker/package.json packages/broker/
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/common/package.json packages/common/
COPY packages/coordination/package.json packages/coordination/
COPY packages/log/package.json packages/log/
COPY packages/protocol/package.json packages/protocol/
COPY packages/record/package.json packages/record/
COPY packages/server/package.json packages/server/
COPY packages/testing/package.json packages/testing/
COPY packages/testkit/package.json packages/testkit/
COPY packages/cli/bin packages/cli/bin
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.base.json ./
COPY scripts scripts
COPY proto proto
COPY packages packages
RUN node scripts/generate-protocol.mjs \
 && npx tsc -b packages/server packages/cli \
 && npm prune --omit=dev --no-audit --no-fund

FROM node:20-bookworm-slim
ENV NODE_ENV=production
WORKDIR /opt/tributary
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/packages packages
COPY --from=build /build/proto proto
RUN mkdir -p /var/lib/tributary \
 && chown node:node /var/lib/tributary \
 && ln -s /opt/tributary/packages/cli/bin/trib.js /usr/local/bin/trib \
 && chmod +x packages/cli/bin/trib.js
USER node
VOLUME /var/lib/tributary
EXPOSE 9292 9392
STOPSIGNAL SIGTERM
ENV TRIBUTARY_DATA_DIR=/var/lib/tributary
# Asks /readyz on TRIBUTARY_HTTP_PORT (9392): no curl in the image.
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "packages/server/dist/healthcheck.js"]
ENTRYPOINT ["node", "packages/server/dist/main.js"]
