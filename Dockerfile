FROM python:3.11-slim

RUN useradd --system --create-home --home-dir /home/memsrv memsrv \
    && install -d -o memsrv -g memsrv /data

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY memsrv memsrv
COPY data/summary data/summary
COPY data/vocabularies data/vocabularies
RUN pip install --no-cache-dir '.[postgresql]' && rm -rf /src/*

USER memsrv
WORKDIR /home/memsrv
# Inside a container the port is reached only as it is published; publish it to loopback, or set MEMSRV_KEYS.
ENV MEMSRV_HOST=0.0.0.0 MEMSRV_ALLOW_OPEN=true MEMSRV_DATA_DIR=/data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["memsrv", "serve"]
